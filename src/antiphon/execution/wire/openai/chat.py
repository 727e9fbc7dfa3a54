"""OpenAI's chat dialect in full: requests and answers, read into the form that belongs to no vendor and written from it."""

from antiphon.execution.wire.openai.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.openai.answer_writer import AnswerWriter, render_error, write_whole
from antiphon.execution.wire.openai.request_reader import DIALECT, decode_request
from antiphon.execution.wire.openai.request_writer import encode_request
from antiphon.execution.wire.said_errors import read_error

__all__ = [
    "DIALECT",
    "AnswerReader",
    "AnswerWriter",
    "decode_request",
    "encode_request",
    "read_error",
    "read_whole",
    "render_error",
    "write_whole",
]
