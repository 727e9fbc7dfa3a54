"""How a long piece of work tells how far it is."""

from typing import Protocol


class Progress(Protocol):
    """Called often, with the bytes done so far, all bytes or None where nobody knows, and what is being done."""

    def __call__(self, done_bytes: int, total_bytes: int | None, text: str) -> None: ...


def silent(done_bytes: int, total_bytes: int | None, text: str) -> None:
    """Progress that nobody looks at."""
