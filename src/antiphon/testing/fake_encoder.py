"""An encoder without a model."""

from collections.abc import Sequence

from antiphon.testing.answers import text_vector
from antiphon.testing.steps import Gate


class FakeEncoder:
    """Implements ``core.ports.Encoder``: the vector of a text is made of its hash, and its tokens are its words.

    With a gate, ``encode`` blocks until the test opens it; with an error, it raises that.
    """

    name = "fake-encoder"

    def __init__(self, dimensions: int = 8, gate: Gate | None = None, error: Exception | None = None) -> None:
        self.dimensions = dimensions
        self.batches: list[list[str]] = []
        """The texts of each call of ``encode``, noted before the gate."""
        self._gate = gate
        self._error = error

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.batches.append(list(texts))
        if self._gate is not None and not self._gate.wait():
            raise TimeoutError("nobody opened the gate of the fake encoder")
        if self._error is not None:
            raise self._error
        return [text_vector(text, self.dimensions) for text in texts]

    def count_tokens(self, text: str) -> int:
        return len(text.split())
