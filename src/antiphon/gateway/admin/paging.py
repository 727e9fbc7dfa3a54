"""How many rows an answer has."""

from collections.abc import Mapping

from antiphon.core.errors import InvalidRequest


def page_size(asked: Mapping[str, str], usual: int, most: int) -> int:
    """The parameter ``limit``. Raises InvalidRequest where it is no number from 1 to ``most``."""
    limit = asked.get("limit", str(usual))
    if not limit.isdecimal() or not 1 <= int(limit[:9]) <= most:
        raise InvalidRequest("`limit` is out of its range", remedy=f"give a whole number from 1 to {most}", param="limit")
    return int(limit)
