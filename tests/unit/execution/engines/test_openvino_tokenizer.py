"""The greatest length that a converted tokenizer cuts at, taken out of its network."""

from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from antiphon.core.errors import InvalidRequest
from antiphon.execution.engines import _openvino_tokenizer
from antiphon.execution.engines._openvino_tokenizer import WholeTokenizer, without_limit

NETWORK = """<net><layers>
<layer id="1" type="Subtract" />
<layer id="2" type="Const"><data element_type="i32" shape="" offset="4" size="4" /></layer>
<layer id="3" type="{cutter}" />
<layer id="4" type="Const"><data element_type="i32" shape="" offset="4" size="4" /></layer>
<layer id="5" type="Range" />
</layers><edges>
<edge from-layer="1" from-port="0" to-layer="3" to-port="0" />
<edge from-layer="2" from-port="0" to-layer="3" to-port="1" />
<edge from-layer="4" from-port="0" to-layer="5" to-port="0" />
</edges></net>"""
WEIGHTS = b"head" + (8192).to_bytes(4, "little") + b"x"


def number(network: str, weights: bytes, layer: int) -> int:
    data = ET.fromstring(network).find(f"layers/layer[@id='{layer}']/data")
    assert data is not None
    start = int(data.attrib["offset"])
    return int.from_bytes(weights[start : start + int(data.attrib["size"])], "little")


@pytest.mark.parametrize("cutter", ["Minimum", "Truncate"])
def test_only_the_length_is_replaced_and_no_other_number_that_stood_in_its_place(cutter: str) -> None:
    network, weights = without_limit(NETWORK.format(cutter=cutter), WEIGHTS)
    assert number(network, weights, 2) == 2**31 - 1
    assert number(network, weights, 4) == 8192
    assert weights.startswith(WEIGHTS)


def test_a_network_without_a_length_stays_as_it_is() -> None:
    network, weights = without_limit(NETWORK.format(cutter="Range"), WEIGHTS)
    assert number(network, weights, 2) == number(network, weights, 4) == 8192
    assert weights == WEIGHTS


def test_what_a_tokenizer_cuts_off_in_spite_of_that_is_refused_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(text: str, *, add_special_tokens: bool) -> Any:
        return SimpleNamespace(input_ids=SimpleNamespace(data=np.arange(min(len(text), 100)).reshape(1, -1)))

    monkeypatch.setattr(_openvino_tokenizer, "_unlimited", lambda folder: SimpleNamespace(encode=encode))
    tokenizer = WholeTokenizer("folder")
    assert len(tokenizer.encode("x" * 99)) == 99
    with pytest.raises(InvalidRequest, match=r"100 tokens or more.*reads no further"):
        tokenizer.encode("x" * 100)
