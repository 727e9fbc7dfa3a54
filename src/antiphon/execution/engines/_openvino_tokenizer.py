"""A model's tokenizer without the greatest length that its conversion gave it.

OpenVINO's tokenizers cut a text off where it has more tokens than the model was trained for, and say nothing of it. Counts and
refusals would then tell that length for every longer text. So the length is taken out of the tokenizer's network before it is
loaded, and what a tokenizer still cuts off, whatever does it, is refused instead of counted.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np

from antiphon.core.errors import InvalidRequest
from antiphon.execution.engines._openvino import openvino, openvino_genai

TOKENIZER: Final = "openvino_tokenizer.xml"
_DETOKENIZER: Final = "openvino_detokenizer.xml"
_CUTTERS: Final = frozenset(("Minimum", "Truncate"))
"""Operations that hold the lengths of texts to a constant; a tokenizer has no other use for them."""
_NO_LENGTH: Final = 2**31 - 1
_BYTES: Final = {"i32": 4, "i64": 8}
_ALIGNED: Final = 8
_PROBES: Final = (1 << 18, 1 << 19)
"""Words of two texts; a tokenizer that finds the same number of tokens in both cuts them off."""


class WholeTokenizer:
    """Turns texts into tokens, all of each text."""

    def __init__(self, folder: str) -> None:
        self._tokenizer = _unlimited(Path(folder))
        first, second = (len(self._ids("a " * words)) for words in _PROBES)
        self._limit = first if first == second else _NO_LENGTH
        """Tokens at which texts are cut off in spite of all."""

    def encode(self, text: str) -> list[int]:
        """Raises InvalidRequest for a text that this tokenizer would not read to its end."""
        ids = self._ids(text)
        if len(ids) >= self._limit:
            raise InvalidRequest(
                f"the text has {self._limit} tokens or more, and this model's tokenizer reads no further", remedy="shorten it"
            )
        return ids

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).input_ids.data.reshape(-1).tolist()
        return ids


def _unlimited(folder: Path) -> Any:
    """The tokenizer of a folder of OpenVINO IR, its greatest length taken out if it has one that is known as such."""
    network, detokenizer = folder / TOKENIZER, folder / _DETOKENIZER
    if not detokenizer.is_file():
        return openvino_genai.Tokenizer(folder)
    words, weights = without_limit(network.read_text(), network.with_suffix(".bin").read_bytes())
    back = detokenizer.with_suffix(".bin").read_bytes()
    return openvino_genai.Tokenizer(words, _tensor(weights), detokenizer.read_text(), _tensor(back))


def without_limit(network: str, weights: bytes) -> tuple[str, bytes]:
    """A tokenizer's network and its weights, each length that it cuts at replaced by the greatest number there is.

    The numbers come behind the other weights: where they stood, something else may read them too.
    """
    root = ET.fromstring(network)  # noqa: S314 - of a model whose network and weights are trusted as much
    for constant in _lengths(root):
        size = _BYTES[constant.attrib["element_type"]]
        weights += bytes(-len(weights) % _ALIGNED)
        constant.attrib["offset"] = str(len(weights))
        weights += _NO_LENGTH.to_bytes(size, "little")
    return ET.tostring(root, "unicode"), weights


def _lengths(root: ET.Element) -> Iterator[ET.Element]:
    """The data of each constant that texts are cut by."""
    layers = {layer.attrib["id"]: layer for layer in root.iterfind("layers/layer")}
    seen = set()
    for edge in root.iterfind("edges/edge"):
        source, target = edge.attrib["from-layer"], edge.attrib["to-layer"]
        if layers[target].get("type") not in _CUTTERS or layers[source].get("type") != "Const" or source in seen:
            continue
        data = layers[source].find("data")
        if data is not None and data.get("element_type") in _BYTES and data.get("shape") in ("", "1"):
            seen.add(source)
            yield data


def _tensor(data: bytes) -> Any:
    return openvino.Tensor(np.frombuffer(data, np.uint8).copy())
