"""An answer as a client of its dialect puts it together, in one form for all dialects."""

from typing import Any

import msgspec


class Called(msgspec.Struct):
    """A call of a tool. ``arguments`` is text, as it came."""

    name: str = ""
    id: str = ""
    arguments: str = ""
    type: str = "function"


class Thought(msgspec.Struct):
    """What was thought in one go; ``data`` where it is encrypted."""

    text: str = ""
    signature: str = ""
    data: str = ""


class Spoken(msgspec.Struct):
    """One choice."""

    text: str = ""
    refusal: str = ""
    thoughts: list[Thought] = []
    calls: list[Called] = []
    finish: str | None = None
    """In the words of the dialect."""
    stop: str | None = None
    """The sequence that ended it, where the dialect tells."""
    logprobs: list[Any] = []
    raw: dict[str, Any] = {}
    """The message itself, where it came in one piece."""

    @property
    def thought(self) -> str:
        """All that was thought."""
        return "".join(thought.text for thought in self.thoughts)


class Reply(msgspec.Struct):
    """An answer."""

    choices: dict[int, Spoken] = {}
    usage: list[dict[str, Any]] = []
    """Each time that it was told."""
    objects: list[dict[str, Any]] = []
    """The JSON objects that it came in."""

    def choice(self, index: int) -> Spoken:
        """The choice of that index, which is made where it is new."""
        return self.choices.setdefault(index, Spoken())
