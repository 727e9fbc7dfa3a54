"""Where models say something in their answers: places in decoded JSON, of which each dialect knows its own.

A channel is one text that a streamed answer brings piece by piece: the words of its second choice, say, or the arguments of a call.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Protocol

Channel = tuple[int | str, ...]
"""Names a text of an answer: of what it is a part first, so that what ends a part ends the channels that begin with it."""
Form = Literal["text", "json", "tree"]
"""A text; JSON as a text; any JSON value, of which each string is a text."""


class Spot(NamedTuple):
    """A text at ``holder[key]``."""

    holder: Any
    key: Any
    form: Form = "text"
    channel: Channel | None = None
    """What it is a piece of; None where it is there as a whole."""


class Speech(Protocol):
    """How a dialect's answers carry texts.

    What is given is an object of any shape: what does not look as it should has no texts.
    """

    repeats: bool
    """What has come in pieces comes again as a whole."""

    def whole(self, answer: dict[str, Any]) -> Iterable[Spot]:
        """The texts of an answer in one piece."""

    def pieces(self, event: dict[str, Any]) -> Iterable[Spot]:
        """Those of an event."""

    def ends(self, event: dict[str, Any]) -> Iterable[Channel]:
        """The channels that are over before an event, by what they begin with."""

    def more(self, event: dict[str, Any], channel: Channel, text: str) -> dict[str, Any]:
        """An event that carries a further piece of a channel; ``event`` is one that did."""

    def bare(self, event: dict[str, Any]) -> bool:
        """Whether an event carries nothing but pieces of texts."""

    def forget_tokens(self, answer: dict[str, Any]) -> bool:
        """Leave out the single tokens (``logprobs``) of an answer or event, which tell its text too; whether there were any."""


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts(holder: Any, keys: Iterable[str], channel: Channel | None = None, form: Form = "text") -> list[Spot]:
    """The texts of an object that are there, at these of its fields; each is a channel of its own below the one given."""
    if not isinstance(holder, dict):
        return []
    return [
        Spot(holder, key, form, None if channel is None else (*channel, key)) for key in keys if isinstance(holder.get(key), str)
    ]


def number(value: Any) -> int:
    """An index; 0 where none is told."""
    return value if isinstance(value, int) else 0
