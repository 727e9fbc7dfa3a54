"""``/v1/responses/input_tokens``: its callers, and how the answers of servers that have it go on.

Shapes after OpenAI's Python SDK.
"""

from typing import Final

from antiphon.execution.wire import reading
from antiphon.execution.wire.dialect import InboundCount, Passing
from antiphon.execution.wire.responses.passing import read_passed
from antiphon.execution.wire.responses.request_reader import decode_request


def write_answer(tokens: int) -> bytes:
    """The body."""
    return reading.encode({"object": "response.input_tokens", "input_tokens": tokens})


INBOUND_COUNT: Final = InboundCount(decode_request, write_answer)
PASSING: Final = Passing(read_passed)
"""A count uses nothing, and tells no usage."""
