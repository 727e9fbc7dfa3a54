"""Ends a text at the first stop string, while the text is still being written."""

from collections.abc import Sequence


class StopMatcher:
    """Takes text piece by piece and lets go what is certain to stand before a stop string.

    Only what could be the beginning of a stop string is held back, so at most one character less than the longest of them. The
    stop string that is complete first ends the text, of several the longest, so that the result does not depend on how the text was
    cut. One automaton of Knuth, Morris and Pratt (SIAM J. Comput. 6, 1977) a stop string: constant work a character.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._automata = [_Automaton(stop) for stop in stops]
        self._firsts = frozenset(stop[0] for stop in stops)
        self._held = ""
        self.released = 0
        """Characters let go so far."""
        self.matched = False
        """A stop string was seen; the text has ended."""

    def feed(self, text: str) -> str:
        """The text that may go out now. After a match nothing does."""
        if self.matched:
            return ""
        if not self._held and self._firsts.isdisjoint(text):
            return self._release(text)
        pending = self._held + text
        already = len(self._held)
        for position, character in enumerate(text, already + 1):
            longest = max((automaton.length for automaton in self._automata if automaton.step(character)), default=0)
            if longest:
                self.matched = True
                self._held = ""
                return self._release(pending[: position - longest])
        held = max(automaton.state for automaton in self._automata)
        self._held = pending[len(pending) - held :]
        return self._release(pending[: len(pending) - held])

    def flush(self) -> str:
        """What was held back, at the end of the text."""
        held, self._held = self._held, ""
        return self._release(held)

    def _release(self, text: str) -> str:
        self.released += len(text)
        return text


class _Automaton:
    __slots__ = ("_border", "_stop", "length", "state")

    def __init__(self, stop: str) -> None:
        self._stop = stop
        self.length = len(stop)
        self.state = 0
        """Length of the longest beginning of the stop string that the text ends with."""
        self._border = _borders(stop)

    def step(self, character: str) -> bool:
        """Take one character; whether the stop string is complete."""
        state = self.state
        while state and self._stop[state] != character:
            state = self._border[state - 1]
        self.state = state + 1 if self._stop[state] == character else 0
        return self.state == self.length


def _borders(text: str) -> list[int]:
    """For each beginning of ``text`` the length of its longest proper beginning that is its end too."""
    borders = [0] * len(text)
    length = 0
    for position in range(1, len(text)):
        while length and text[position] != text[length]:
            length = borders[length - 1]
        length += text[position] == text[length]
        borders[position] = length
    return borders
