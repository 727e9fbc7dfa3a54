"""Guards whole texts: what callers say, and what models say in one piece."""

import json
from collections.abc import Sequence
from typing import Any, Final

from antiphon.governance.guarding.masks import Masks, gone
from antiphon.governance.guarding.rules import Acts, Known, Rule, look, marks

_COMPACT: Final = (",", ":")


class InputGuard:
    """Guards what a caller says in one call. ``known`` is what was found elsewhere; it may be set before texts come."""

    def __init__(self, rules: Sequence[Rule], masks: Masks, acts: Acts) -> None:
        self.rules = rules
        self.known: Known = {}
        self._masks = masks
        self._acts = acts

    def text(self, text: str) -> str:
        """The text as the model may see it. Raises ContentBlocked."""
        found = look(self.rules, text, self.known)
        if not found:
            return text
        for rule, finding in found:
            self._acts.note(rule, finding.kind, "input")
        hide = self._masks.hide
        return _replaced(text, [(part.begin, part.end, hide(part.kind, text[part.begin : part.end])) for part in marks(found)])

    def json(self, text: str) -> str:
        """The same for JSON within a text."""
        return _within_json(text, self.text)


class OutputGuard:
    """Guards what a model says in one call, as far as it comes in one piece, and puts back what was masked before."""

    def __init__(self, rules: Sequence[Rule], masks: Masks, acts: Acts) -> None:
        self.rules = rules
        self.known: Known = {}
        self._masks = masks
        self._acts = acts

    def text(self, text: str) -> str:
        """The text as the caller may see it. Raises ContentBlocked."""
        found = [each for each in look(self.rules, text, self.known) if not self._masks.is_one(text, each[1].begin, each[1].end)]
        for rule, finding in found:
            self._acts.note(rule, finding.kind, "output")
        text = _replaced(text, [(part.begin, part.end, gone(part.kind)) for part in marks(found)])
        return self._masks.restore(text)

    def json(self, text: str) -> str:
        """The same for JSON within a text."""
        return _within_json(text, self.text)


def _replaced(text: str, parts: Sequence[tuple[int, int, str]]) -> str:
    """A text with other texts in the place of its parts, which are in order."""
    if not parts:
        return text
    pieces: list[str] = []
    done = 0
    for begin, end, other in parts:
        pieces += (text[done:begin], other)
        done = end
    return "".join((*pieces, text[done:]))


class TextCollector:
    """Has the same methods as a guard, changes nothing, and remembers the texts."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}

    def text(self, text: str) -> str:
        """Take a text."""
        self.texts[text] = None
        return text

    def json(self, text: str) -> str:
        """Take the texts within JSON within a text."""
        return _within_json(text, self.text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises ValueError where a field stands there twice: who knows which of them is read."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands there twice")
    return found


def _within_json(text: str, guarded: Any) -> str:
    """Each string within a JSON document, which is left as it is written where nothing changes; what is no JSON is one text."""
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return str(guarded(text))
    changed = changed_leaves(document, guarded)
    return text if changed == document else json.dumps(changed, ensure_ascii=False, separators=_COMPACT)


def changed_leaves(value: Any, guarded: Any) -> Any:
    """A JSON value with each of its strings changed; the names of its fields stay."""
    if isinstance(value, str):
        return guarded(value)
    if isinstance(value, dict):
        return {name: changed_leaves(each, guarded) for name, each in value.items()}
    if isinstance(value, list):
        return [changed_leaves(each, guarded) for each in value]
    return value
