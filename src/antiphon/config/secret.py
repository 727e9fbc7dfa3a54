"""A text that must not be seen: an API key."""

from typing import NoReturn

MASK = "***"


class Secret:
    """Holds a key. Every way of printing it gives ``***``; only :meth:`reveal` gives the text. An empty secret is false."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that sends or compares it."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled; it travels only through the pipe to a child process")


def encode_hook(value: object) -> object:
    """``enc_hook`` of msgspec for what travels to a child process through its stdin pipe: reveals secrets."""
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(f"cannot encode {type(value).__name__}")


def decode_hook(kind: type, value: object) -> object:
    """``dec_hook`` of msgspec, the counterpart of :func:`encode_hook`."""
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError(f"cannot decode {kind.__name__}")


def mask_hook(value: object) -> object:
    """``enc_hook`` of msgspec for what people or logs may see: hides secrets."""
    if isinstance(value, Secret):
        return MASK if value else ""
    raise NotImplementedError(f"cannot encode {type(value).__name__}")
