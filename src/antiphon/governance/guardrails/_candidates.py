"""From everything that patterns saw to findings that keep to the port: in order, none overlapping another."""

from collections.abc import Iterable

from antiphon.core.guardrail import Finding


def _place(candidate: Finding) -> tuple[int, int, float, str]:
    return candidate.begin, -candidate.end, -candidate.score, candidate.kind


def settled(candidates: Iterable[Finding]) -> list[Finding]:
    """What covers exactly the characters that the candidates cover.

    Whoever begins first wins, then the longer and the more certain one; of a later one stays what sticks out behind. So the finding
    of a character depends on nothing but candidates that cover the character, and a finding can be told as soon as its own text is
    there: rules that look for the best of a chain of overlapping candidates would have to see the whole chain.
    """
    found: list[Finding] = []
    covered = 0
    for candidate in sorted(candidates, key=_place):
        if candidate.end <= covered:
            continue
        begin = max(candidate.begin, covered)
        found.append(candidate if begin == candidate.begin else Finding(begin, candidate.end, candidate.kind, candidate.score))
        covered = candidate.end
    return found
