"""Bedrock's Converse as its servers are asked and read."""

from antiphon.execution.wire.bedrock.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.bedrock.frames import CONTENT_TYPE, FrameSplitter
from antiphon.execution.wire.bedrock.request_writer import encode_request
from antiphon.execution.wire.dialect import OutboundChat

CONVERSE = OutboundChat("converse", encode_request, AnswerReader, read_whole, FrameSplitter, CONTENT_TYPE)
