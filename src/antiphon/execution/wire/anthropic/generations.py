"""How each generation of Claude is told to think, by the name of the model, whoever serves it."""

import re
from typing import Final

from antiphon.execution.wire.chat import ReasoningStyle

_NAME: Final = re.compile(r"claude-(?:[a-z]+-)*(\d+)(?:[-.](\d{1,2})(?!\d))?")
"""Finds the version in ``claude-3-7-sonnet-20250219``, ``claude-opus-4-6`` and ``anthropic.claude-sonnet-4-5-20250929-v1:0``."""
_FIRST_THINKER: Final = (3, 7)
_FIRST_ADAPTIVE: Final = (4, 6)


def thinking_of(model: str) -> ReasoningStyle:
    """Not at all before 3.7, by a budget before 4.6, and adaptively since (Anthropic's documentation, "Adaptive thinking")."""
    found = _NAME.search(model)
    if found is None:
        return ""
    version = (int(found[1]), int(found[2] or 0))
    if version < _FIRST_THINKER:
        return ""
    return "budget" if version < _FIRST_ADAPTIVE else "adaptive"
