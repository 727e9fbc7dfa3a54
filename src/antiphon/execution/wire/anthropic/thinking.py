"""How Claude is told to think: each generation in its own way, by the name of the model, whoever serves it.

Not at all before 3.7, by a budget of tokens before 4.6, and by an effort since (Anthropic's documentation, "Extended thinking" and
"Adaptive thinking"). Each generation refuses what is said in the way of another, and a wish is not worth a refusal.
"""

import re
from typing import Any, Final

from antiphon.execution.wire import chat
from antiphon.execution.wire.chat import ChatRequest, Reasoning, ReasoningStyle
from antiphon.execution.wire.signatures import unmarked

MIN_BUDGET: Final = 1024
"""The fewest tokens that thinking may be given (Anthropic's API reference, ``thinking.budget_tokens``)."""
_BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 65536}
_NAME: Final = re.compile(r"claude-(?:[a-z]+-)*(\d+)(?:[-.](\d{1,2})(?!\d))?")
"""Finds the version in ``claude-3-7-sonnet-20250219``, ``claude-opus-4-6`` and ``anthropic.claude-sonnet-4-5-20250929-v1:0``."""
_FIRST_THINKER: Final = (3, 7)
_FIRST_ADAPTIVE: Final = (4, 6)
_FIRST_WITH_XHIGH: Final = (4, 7)


def style_of(model: str, unknown: ReasoningStyle = "") -> ReasoningStyle:
    """How a model is told; ``unknown`` where its name does not say which it is."""
    version = _version(model)
    if version is None:
        return unknown
    if version < _FIRST_THINKER:
        return ""
    return "budget" if version < _FIRST_ADAPTIVE else "adaptive"


def thinking_field(request: ChatRequest, style: ReasoningStyle, length: int) -> dict[str, Any] | None:
    """``thinking``, for an answer of at most ``length`` tokens; None where nothing is said of it."""
    reasoning = request.reasoning or Reasoning()
    if not style or reasoning == Reasoning():
        return None
    shown = {"display": reasoning.display} if reasoning.display else {}
    if reasoning.mode in ("disabled", "between_tools"):
        return {"type": reasoning.mode}
    if style != "budget":
        return {"type": "adaptive", **shown} if reasoning.mode or style == "adaptive" else None
    budget = min(reasoning.budget or _BUDGETS.get(reasoning.effort, MIN_BUDGET), length - 1)
    if budget < MIN_BUDGET or _lost_its_thought(request):
        return None
    return {"type": "enabled", "budget_tokens": budget, **shown}


def effort_of(request: ChatRequest, style: ReasoningStyle) -> str:
    """``output_config.effort``; empty where nothing is said of it."""
    effort = request.reasoning.effort if request.reasoning is not None else ""
    if style not in ("effort", "adaptive"):
        return ""
    if effort == "minimal":
        return "low"
    version = _version(request.model)
    return "high" if effort == "xhigh" and version is not None and version < _FIRST_WITH_XHIGH else effort


def _version(model: str) -> tuple[int, int] | None:
    found = _NAME.search(model)
    return (int(found[1]), int(found[2] or 0)) if found is not None else None


def _lost_its_thought(request: ChatRequest) -> bool:
    """Whether the last turn called tools without the thought before the call.

    With a budget, Anthropic then refuses to think on; callers of other dialects seldom keep that thought.
    """
    for message in reversed(request.messages):
        if message.role == "assistant":
            called = any(isinstance(part, chat.ToolCall) for part in message.parts)
            return called and not any(_is_thought(part) for part in message.parts)
    return False


def _is_thought(part: chat.Part) -> bool:
    return isinstance(part, chat.RedactedThinking) or (
        isinstance(part, chat.Thinking) and bool(unmarked(part.signature, "anthropic"))
    )
