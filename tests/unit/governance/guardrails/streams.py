"""What the port promises about streams, as a splitter of streams has to rely on it."""

from collections.abc import Iterable
from itertools import pairwise

from antiphon.core.guardrail import Finding, Guardrail


def found_in_stream(guardrail: Guardrail, deltas: Iterable[str]) -> list[Finding]:
    """What is found by looking at pieces as they come, no more than ``reach`` characters before and behind.

    What begins more than ``reach`` characters before the end of what has come is decided; the rest waits.
    """
    reach = guardrail.reach
    assert reach is not None
    text, decided, found = "", 0, []
    for delta, last in _with_last(deltas):
        text += delta
        border = len(text) if last else max(decided, len(text) - reach)
        start = max(0, decided - reach)
        for finding in guardrail.find(text[start:]):
            begin = finding.begin + start
            if decided <= begin < border:
                found.append(Finding(begin, finding.end + start, finding.kind, finding.score))
        decided = border
    return found


def _with_last(deltas: Iterable[str]) -> Iterable[tuple[str, bool]]:
    every = list(deltas)
    return [(delta, place == len(every) - 1) for place, delta in enumerate(every)]


def keeps_its_reach(guardrail: Guardrail, text: str) -> None:
    """Raises AssertionError where a finding needs more than ``reach`` characters around it, or the order is wrong."""
    reach = guardrail.reach
    assert reach is not None
    found = list(guardrail.find(text))
    for before, after in pairwise(found):
        assert before.end <= after.begin
    for finding in found:
        assert 0 <= finding.begin < finding.end <= len(text)
        assert finding.end - finding.begin <= reach
        start = max(0, finding.begin - reach)
        part = guardrail.find(text[start : finding.end + reach])
        assert Finding(finding.begin - start, finding.end - start, finding.kind, finding.score) in part, finding
    # And nothing more is found in a part than in the whole, but near its borders.
    middle = len(text) // 3
    for finding in guardrail.find(text[middle : 2 * middle]):
        if finding.begin >= reach and finding.end + reach <= middle:
            assert Finding(finding.begin + middle, finding.end + middle, finding.kind, finding.score) in found
