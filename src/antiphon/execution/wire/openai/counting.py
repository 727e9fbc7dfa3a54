"""``/tokenize`` of vLLM and of the engines on this machine: a chat's prompt as the model's own template and tokenizer make it.

OpenAI's dialect has no such endpoint for chats, so servers of it lack it unless their row says that they have it. Shapes after
vLLM's documentation, "Tokenizer API".
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.dialect import OutboundCount
from antiphon.execution.wire.openai.request_writer import fields_of
from antiphon.execution.wire.reading import Count
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "/tokenize"


class _Answer(msgspec.Struct):
    count: Count | None = None
    error: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``/tokenize``. Raises UnsupportedParameter, naming the first field that the chat itself could not have."""
    for message in request.messages:
        results = [part for result in message.parts if isinstance(result, chat.ToolResult) for part in result.parts]
        if not all(map(_is_text, (*message.parts, *results))):
            reason = "this model's server counts the tokens of text alone"
            raise unsupported(f"{message.place}.content", reason, "leave out what is no text")
    fields = fields_of(request, abilities)
    told: dict[str, Any] = {name: fields[name] for name in ("model", "messages", "tools") if name in fields}
    if "reasoning_effort" in fields:
        told["chat_template_kwargs"] = {"reasoning_effort": fields["reasoning_effort"]}
    return reading.encode(told)


def _is_text(part: chat.Part) -> bool:
    """Whether all tokens of a part are the template's and the tokenizer's: those of pictures are made elsewhere."""
    if isinstance(part, chat.Document):
        return not part.data and not part.url
    return not isinstance(part, chat.Image | chat.Audio)


def read_answer(body: bytes) -> int:
    """Raises UpstreamBroken where this tells no number, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.error is not None:
        raise refused(said(answer.error, 502))
    if answer.count is None:
        raise UpstreamBroken("the model's server was asked to count tokens and told no number")
    return answer.count


OUTBOUND_COUNT: Final = OutboundCount("tokenize", encode_request, read_answer)
