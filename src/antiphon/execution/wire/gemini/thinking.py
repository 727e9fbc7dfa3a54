"""How a Gemini model is told to think: by a budget of tokens, or by a level, as its generation wants it.

After Google's documentation, "Thinking" and "OpenAI compatibility". Wishes are fitted to what the model takes, so that no call is
refused for them: nobody has to know of the model behind an alias that it cannot leave thinking altogether.
"""

import re
from typing import Any, Final

from antiphon.execution.wire.chat import Reasoning

MAX_BUDGET: Final = 24576
"""Tokens that every model with a budget takes."""
_LEAST_OF_PRO: Final = 128
_DYNAMIC: Final = -1
"""The budget with which the model finds its own measure."""
_BUDGETS = {"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}
_LEVELS = {"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "xhigh": "HIGH", "max": "HIGH"}
_GENERATION = re.compile(r"(?:^|/)gemini-(\d{1,3})(?:\.(\d{1,3}))?(?![\d.])")
_BUDGETS_SINCE: Final = (2, 5)
_LEVELS_SINCE: Final = (3, 0)


def thinking_config(reasoning: Reasoning, model: str) -> dict[str, Any] | None:
    """``thinkingConfig``, None where nothing is wished or the model does not think.

    Whoever asks for thought is told of it, unless they say otherwise.
    """
    wished = reasoning.mode or reasoning.effort or reasoning.budget is not None
    generation = _generation(model)
    if not wished or reasoning.mode == "between_tools" or generation < _BUDGETS_SINCE:
        return None
    pro = "-pro" in model
    leveled = generation >= _LEVELS_SINCE
    told = _level(reasoning, pro=pro) if leveled else {"thinkingBudget": _budget(reasoning, pro=pro)}
    if reasoning.mode != "disabled" and reasoning.display != "omitted":
        told["includeThoughts"] = True
    return told or None


def _generation(model: str) -> tuple[int, int]:
    """The generation of a model by its name. One without a number is taken for one with budgets, which later ones take too."""
    found = _GENERATION.search(model)
    if found is not None:
        return int(found[1]), int(found[2] or 0)
    return (0, 0) if "gemma" in model else _BUDGETS_SINCE


def _budget(reasoning: Reasoning, *, pro: bool) -> int:
    least = _LEAST_OF_PRO if pro else 0
    if reasoning.mode == "disabled":
        return least
    if reasoning.budget is not None:
        return min(max(reasoning.budget, least), MAX_BUDGET)
    return _BUDGETS.get(reasoning.effort, _DYNAMIC)


def _level(reasoning: Reasoning, *, pro: bool) -> dict[str, Any]:
    """The level, none where the model's own measure is right. Those of the Pro kind have none below ``LOW``."""
    if reasoning.mode == "disabled" or reasoning.effort == "minimal":
        return {"thinkingLevel": "LOW" if pro else "MINIMAL"}
    if reasoning.effort in _LEVELS:
        return {"thinkingLevel": _LEVELS[reasoning.effort]}
    if reasoning.budget is None:
        return {}
    return {"thinkingLevel": "LOW" if reasoning.budget <= 2048 else "MEDIUM" if reasoning.budget <= 8192 else "HIGH"}
