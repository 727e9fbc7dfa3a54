"""OpenAI's Responses dialect for its callers: requests read into the form that belongs to no vendor, answers written from it."""

from typing import Final

from antiphon.execution.wire.dialect import InboundChat, Passing
from antiphon.execution.wire.responses import passthrough
from antiphon.execution.wire.responses.answer_writer import AnswerWriter, write_whole
from antiphon.execution.wire.responses.request_reader import decode_request

INBOUND_CHAT: Final = InboundChat(decode_request, AnswerWriter, write_whole)
PASSING: Final = Passing(passthrough.StreamWatch, passthrough.read_answer)
