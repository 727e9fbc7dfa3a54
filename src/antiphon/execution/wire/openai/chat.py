"""OpenAI's chat dialect in full: requests and answers, read into the form that belongs to no vendor and written from it."""

from typing import Final

from antiphon.execution.wire.dialect import InboundChat, Outbound, OutboundChat
from antiphon.execution.wire.openai.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.openai.answer_writer import AnswerWriter, render_error, write_whole
from antiphon.execution.wire.openai.request_reader import DIALECT, decode_request
from antiphon.execution.wire.openai.request_writer import encode_request
from antiphon.execution.wire.said_errors import read_error

INBOUND_CHAT: Final = InboundChat(
    decode_request,
    lambda request, identity: AnswerWriter(request.model, identity, wants_usage=request.wants_usage),
    lambda events, request, identity: write_whole(events, request.model, identity),
)
OUTBOUND_CHAT: Final = OutboundChat("chat/completions", encode_request, AnswerReader, read_whole)
OUTBOUND: Final = Outbound(DIALECT, OUTBOUND_CHAT)

__all__ = [
    "DIALECT",
    "INBOUND_CHAT",
    "OUTBOUND",
    "OUTBOUND_CHAT",
    "AnswerReader",
    "AnswerWriter",
    "decode_request",
    "encode_request",
    "read_error",
    "read_whole",
    "render_error",
    "write_whole",
]
