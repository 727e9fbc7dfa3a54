"""Bedrock's Converse as its servers are asked and read."""

from typing import Final

from antiphon.execution.wire.bedrock.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.bedrock.frames import CONTENT_TYPE, FrameSplitter
from antiphon.execution.wire.bedrock.request_writer import encode_request
from antiphon.execution.wire.dialect import Framing, Outbound, OutboundChat

FRAMING: Final = Framing(FrameSplitter, CONTENT_TYPE, b"")
CONVERSE: Final = OutboundChat("converse", encode_request, AnswerReader, read_whole, FRAMING)
OUTBOUND: Final = Outbound("bedrock", CONVERSE)
