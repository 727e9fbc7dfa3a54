"""Guards a text that comes in pieces: what is passed on is never taken back.

Let ``reach`` be the largest of all rules. Whether ``text[b:e]`` is found depends on ``text[b - reach : e + reach]``, and it is no
longer than ``reach``: so once ``text[: b + 2 * reach]`` is there, nothing that comes can change whether something begins at ``b``.
All before that place is passed on, but for the beginning of what goes on behind it. The same text is passed on however it was cut.
"""

from collections.abc import Sequence
from typing import Final

from antiphon.core.errors import ContentBlocked
from antiphon.governance.guarding.masks import Masks, begun, gone
from antiphon.governance.guarding.rules import Acts, Rule, look, marks

STEP: Final = 16
"""Characters that are waited for, beyond what is held back anyway, before it is looked again: looking costs the same for one."""
MOST_HELD: Final = 1 << 20
"""Characters that are held back where only a whole text tells."""


class StreamGuard:
    """Guards one text of an answer."""

    __slots__ = ("_acts", "_behind", "_begin", "_masks", "_reach", "_rules", "_text", "_waiting")

    def __init__(self, rules: Sequence[Rule], masks: Masks, acts: Acts) -> None:
        self._rules = rules
        self._masks = masks
        self._acts = acts
        self._reach = _reach(rules)
        """None: only the whole text tells."""
        self._text = ""
        """What is not decided, behind ``reach`` characters that are."""
        self._begin = 0
        """Where in it that begins which is not decided."""
        self._waiting: list[str] = []
        self._behind = ""
        """Decided, but maybe the beginning of a placeholder."""

    def feed(self, piece: str) -> str:
        """Take a piece; what of the text may be passed on now. Raises ContentBlocked."""
        if not self._rules:
            return self._restored(piece)
        self._waiting.append(piece)
        held = len(self._text) - self._begin + sum(map(len, self._waiting))
        if self._reach is None:
            if held > MOST_HELD:
                rule = next(rule for rule in self._rules if rule.guardrail.reach is None)
                raise ContentBlocked(rule.name, "TOO_LONG_TO_JUDGE", "output")
            return ""
        if held < 2 * self._reach + STEP:
            return ""
        self._gather()
        return self._restored(self._decide(len(self._text) - 2 * self._reach))

    def finish(self) -> str:
        """The text is over: what is left of it. Raises ContentBlocked."""
        rest = ""
        if self._rules:
            self._gather()
            rest = self._decide(len(self._text))
        self._behind, last = "", self._behind + rest
        return self._masks.restore(last)

    def _gather(self) -> None:
        self._text += "".join(self._waiting)
        self._waiting.clear()

    def _decide(self, until: int) -> str:
        """Pass on what begins before a place, as it may be passed on."""
        text, begin = self._text, self._begin
        found = [
            (rule, finding)
            for rule, finding in look(self._rules, text)
            if finding.begin >= begin and not self._masks.is_one(text, finding.begin, finding.end)
        ]
        for _, finding in reversed(found):
            if finding.begin < until < finding.end:
                until = finding.begin
        found = [each for each in found if each[1].begin < until]
        for rule, finding in found:
            self._acts.note(rule, finding.kind, "output")
        pieces: list[str] = []
        done = begin
        for part in marks(found):
            pieces += (text[done : part.begin], gone(part.kind))
            done = part.end
        pieces.append(text[done:until])
        reach = self._reach or 0
        self._text, self._begin = text[max(0, until - reach) :], min(until, reach)
        return "".join(pieces)

    def _restored(self, text: str) -> str:
        """Decided text with what was masked before put back, but for the beginning of a placeholder that is not whole yet."""
        if not self._masks:
            return text
        text = self._behind + text
        place = begun(text)
        self._behind = text[place:]
        return self._masks.restore(text[:place])


def _reach(rules: Sequence[Rule]) -> int | None:
    reaches = [rule.guardrail.reach for rule in rules]
    known = [reach for reach in reaches if reach is not None]
    return max(known, default=0) if len(known) == len(reaches) else None
