"""OpenAI's Responses dialect for its callers: requests read into the form that belongs to no vendor, answers written from it."""

from typing import Final

from antiphon.execution.wire.dialect import InboundChat
from antiphon.execution.wire.responses.answer_writer import AnswerWriter, write_whole
from antiphon.execution.wire.responses.errors import error_event
from antiphon.execution.wire.responses.request_reader import DIALECT, decode_request

INBOUND_CHAT: Final = InboundChat(
    decode_request,
    lambda request, _: AnswerWriter(request),
    lambda events, request, _: (200, write_whole(events, request)),
)

__all__ = ["DIALECT", "INBOUND_CHAT", "AnswerWriter", "decode_request", "error_event", "write_whole"]
