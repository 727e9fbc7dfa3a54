"""Ollama's dialect in full: requests and answers, read into the form that belongs to no vendor and written from it."""

from typing import Final

from antiphon.execution.wire.dialect import InboundChat, OutboundChat
from antiphon.execution.wire.ollama.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.ollama.answer_writer import (
    AnswerWriter,
    GeneratedWriter,
    render_error,
    write_whole,
    write_whole_generated,
)
from antiphon.execution.wire.ollama.passing import FRAMING
from antiphon.execution.wire.ollama.request_reader import DIALECT, decode_generate_request, decode_request
from antiphon.execution.wire.ollama.request_writer import encode_request
from antiphon.execution.wire.said_errors import read_error

INBOUND_CHAT: Final = InboundChat(decode_request, AnswerWriter, write_whole, FRAMING.content_type)
INBOUND_GENERATE: Final = InboundChat(decode_generate_request, GeneratedWriter, write_whole_generated, FRAMING.content_type)
OUTBOUND_CHAT: Final = OutboundChat("api/chat", encode_request, AnswerReader, read_whole, FRAMING)

__all__ = [
    "DIALECT",
    "INBOUND_CHAT",
    "INBOUND_GENERATE",
    "OUTBOUND_CHAT",
    "AnswerReader",
    "AnswerWriter",
    "GeneratedWriter",
    "decode_generate_request",
    "decode_request",
    "encode_request",
    "read_error",
    "read_whole",
    "render_error",
    "write_whole",
    "write_whole_generated",
]
