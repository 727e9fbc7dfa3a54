import struct

import pytest

from antiphon.core.errors import ModelSourceError
from antiphon.registry.gguf import read_gguf


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf(pairs: list[bytes], tensors: list[tuple[int, ...]], version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs)
    shapes = [
        text(f"t{index}") + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, 0)
        for index, shape in enumerate(tensors)
    ]
    return head + b"".join(shapes)


def string(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


PAIRS = [
    string("general.architecture", "llama"),
    string("general.name", "Tiny"),
    string("general.license", "apache-2.0"),
    number("general.file_type", 15),
    number("llama.context_length", 4096),
    text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("bc") + text("é"),
    text("tokenizer.ggml.scores") + struct.pack("<IIQ3f", 9, 6, 3, 0.0, 1.0, 2.0),
    text("nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2B", 0, 2, 1, 2),
    text("flag") + struct.pack("<I?", 7, True),
    string("tokenizer.chat_template", "{{ messages }}"),
]


def test_the_head_is_read(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(PAIRS, [(4, 8), (16,)]))
    info = read_gguf(path)
    assert (info.version, info.name, info.architecture, info.licence) == (3, "Tiny", "llama", "apache-2.0")
    assert (info.quantisation, info.parameters) == ("Q4_K_M", 48)
    assert (info.context_length, info.vocabulary, info.chat_template) == (4096, 3, True)


def test_what_is_not_said_stays_empty(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf([number("general.file_type", 99)], []))
    info = read_gguf(path)
    assert (info.architecture, info.licence, info.context_length, info.chat_template) == ("", "", 0, False)
    assert info.quantisation == "file type 99"


@pytest.mark.parametrize("cut", [0, 3, 6, 20, 40, 100, 250])
def test_a_truncated_head_is_an_error_and_no_crash(tmp_path, cut):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(PAIRS, [(4, 8)])[:cut])
    with pytest.raises(ModelSourceError, match="GGUF"):
        read_gguf(path)


@pytest.mark.parametrize(
    "content", [b"not a model at all", gguf([], [], version=1), b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + b"\xff" * 64]
)
def test_other_content_is_an_error(tmp_path, content):
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelSourceError):
        read_gguf(path)
