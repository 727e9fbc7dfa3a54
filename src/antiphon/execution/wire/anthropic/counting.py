"""Anthropic's ``/v1/messages/count_tokens``: its callers, and what its servers answer.

Shapes after Anthropic's API reference, "Count tokens in a Message", and its Python SDK.
"""

from typing import Final

from antiphon.execution.wire import reading
from antiphon.execution.wire.anthropic.passing import read_passed
from antiphon.execution.wire.anthropic.request_reader import decode_count
from antiphon.execution.wire.dialect import InboundCount, Passing


def write_answer(tokens: int) -> bytes:
    """The body."""
    return reading.encode({"input_tokens": tokens})


INBOUND_COUNT: Final = InboundCount(decode_count, write_answer)
PASSING: Final = Passing(read_passed)
"""A count uses nothing, and tells no usage."""
