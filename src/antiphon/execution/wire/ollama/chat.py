"""Ollama's dialect in full: requests and answers, read into the form that belongs to no vendor and written from it."""

from antiphon.execution.wire.dialect import InboundChat, OutboundChat, Passing
from antiphon.execution.wire.ollama.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.ollama.answer_writer import (
    AnswerWriter,
    GeneratedWriter,
    render_error,
    write_whole,
    write_whole_generated,
)
from antiphon.execution.wire.ollama.passing import StreamWatch, read_answer
from antiphon.execution.wire.ollama.request_reader import DIALECT, decode_generate_request, decode_request
from antiphon.execution.wire.ollama.request_writer import encode_request
from antiphon.transport.lines import LineSplitter

STREAM_TYPE = b"application/x-ndjson"

INBOUND_CHAT = InboundChat(decode_request, AnswerWriter, write_whole, STREAM_TYPE)
INBOUND_GENERATE = InboundChat(decode_generate_request, GeneratedWriter, write_whole_generated, STREAM_TYPE)
OUTBOUND_CHAT = OutboundChat("api/chat", encode_request, AnswerReader, read_whole, LineSplitter, STREAM_TYPE)
PASSING = Passing(lambda _: StreamWatch(), read_answer)

__all__ = [
    "DIALECT",
    "INBOUND_CHAT",
    "INBOUND_GENERATE",
    "OUTBOUND_CHAT",
    "PASSING",
    "STREAM_TYPE",
    "AnswerReader",
    "AnswerWriter",
    "GeneratedWriter",
    "decode_generate_request",
    "decode_request",
    "encode_request",
    "read_whole",
    "render_error",
    "write_whole",
    "write_whole_generated",
]
