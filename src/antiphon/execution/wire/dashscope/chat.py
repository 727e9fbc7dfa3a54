"""DashScope's native dialect as its servers are asked and read, models that read text alone at one endpoint, others at another."""

from antiphon.execution.wire.dashscope.answer_reader import AnswerReader, read_whole
from antiphon.execution.wire.dashscope.request_writer import encode_multimodal_request, encode_text_request
from antiphon.execution.wire.dialect import OutboundChat

TEXT = OutboundChat("services/aigc/text-generation/generation", encode_text_request, AnswerReader, read_whole, streams_only=True)
MULTIMODAL = OutboundChat(
    "services/aigc/multimodal-generation/generation", encode_multimodal_request, AnswerReader, read_whole, streams_only=True
)
