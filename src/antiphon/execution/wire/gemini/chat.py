"""Gemini's chat dialect: requests written from the form that belongs to no vendor, and answers read into it."""

from typing import Final

from antiphon.execution.wire.dialect import OutboundChat
from antiphon.execution.wire.gemini.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.gemini.names import DIALECT
from antiphon.execution.wire.gemini.request_writer import encode_request

__all__ = ["DIALECT", "OUTBOUND_CHAT", "AnswerReader", "encode_request", "read_whole"]

OUTBOUND_CHAT: Final = OutboundChat("generateContent", encode_request, AnswerReader, read_whole)
"""``generateContent`` stands for ``streamGenerateContent`` too: the provider chooses by whether the call is streamed."""
