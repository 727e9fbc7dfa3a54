"""What only some of Bedrock's models know, in the words of their vendors, by the names that Bedrock has for the models.

Where the name does not tell whose the model is, as that of an application's inference profile, nothing of it is said.
"""

import re
from typing import Any, Final

from antiphon.execution.wire import chat
from antiphon.execution.wire.anthropic.thinking import effort_of, style_of, thinking_field
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported

_NO_LIMIT: Final = 1 << 31
_CLAUDE: Final = re.compile(r"anthropic\.claude-")
_NOVA: Final = re.compile(r"amazon\.nova-")
_THINKING_NOVA: Final = re.compile(r"amazon\.nova-[2-9]")
_GPT: Final = re.compile(r"openai\.gpt-")
_NOVA_EFFORTS: Final = {"minimal": "low", "xhigh": "high", "max": "high"}
_TOP_K: Final = ((re.compile(r"anthropic\.|mistral\.|qwen\."), "top_k"), (re.compile(r"cohere\."), "k"))


def keeps_marks(model: str) -> bool:
    """Whether the model takes marks of what is worth keeping ("Prompt caching" in Bedrock's user guide); others refuse them."""
    return bool(_CLAUDE.search(model) or _NOVA.search(model))


def takes_thoughts(model: str) -> bool:
    """Whether the model may take thoughts back that Anthropic's signed; those of other vendors refuse them.

    A thought that Claude signed on one platform is good on the others ("Extended thinking" in Anthropic's documentation).
    """
    return bool(_CLAUDE.search(model)) or "." not in model  # an inference profile's name does not tell


def thinking(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """How the model is to think; empty where it is not told."""
    reasoning, model = request.reasoning or chat.Reasoning(), request.model
    if not abilities.reasoning or reasoning == chat.Reasoning():
        return {}
    if _CLAUDE.search(model):
        return _claude(request, abilities)
    if _GPT.search(model):
        return {"reasoning_effort": reasoning.effort} if reasoning.effort else {}
    if _THINKING_NOVA.search(model):
        if reasoning.mode == "disabled":
            return {"reasoningConfig": {"type": "disabled"}}
        effort = _NOVA_EFFORTS.get(reasoning.effort, reasoning.effort) or "medium"
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
    return {}


def _claude(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    style = style_of(request.model)
    told = thinking_field(request, style, request.max_tokens or abilities.max_tokens or _NO_LIMIT)
    effort = effort_of(request, style)
    return {
        **({"thinking": told} if told is not None else {}),
        **({"output_config": {"effort": effort}} if effort else {}),
    }


def top_k(request: ChatRequest) -> dict[str, Any]:
    """Among how many tokens the next one is drawn. Raises UnsupportedParameter for models that have no word for it."""
    if request.top_k is None:
        return {}
    if _NOVA.search(request.model):
        return {"inferenceConfig": {"topK": request.top_k}}
    for family, name in _TOP_K:
        if family.search(request.model):
            return {name: request.top_k}
    raise unsupported("top_k", "this model's server does not know it")
