import base64
import json
import struct

import pytest

from antiphon.execution.compute_host.responses import render

VECTORS = [[0.5, -0.25, 1e-7], [0.1, 0.2, 0.3]]


def test_floats():
    body = json.loads(render('odd "name"', VECTORS, 7, as_base64=False))
    assert body["object"] == "list"
    assert body["model"] == 'odd "name"'
    assert body["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert [(item["object"], item["index"], item["embedding"]) for item in body["data"]] == [
        ("embedding", 0, VECTORS[0]),
        ("embedding", 1, VECTORS[1]),
    ]


def test_base64_is_little_endian_float32():
    body = json.loads(render("m", VECTORS, 7, as_base64=True))
    unpacked = [struct.unpack("<3f", base64.b64decode(item["embedding"])) for item in body["data"]]
    assert unpacked[0] == pytest.approx(VECTORS[0])
    assert unpacked[1] == pytest.approx(VECTORS[1])
