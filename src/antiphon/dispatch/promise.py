"""What callers are promised."""

import msgspec


class Promise(msgspec.Struct, frozen=True, gc=False):
    """When the answers of a service tier are due, for calls that do not say. 0 promises nothing."""

    first_token_within: float = 0.0
    answer_within: float = 0.0
