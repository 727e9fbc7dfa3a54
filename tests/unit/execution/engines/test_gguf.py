from pathlib import Path

import pytest

from antiphon.core.errors import ModelSourceError, SetupError
from antiphon.execution.engines._gguf import make_sure_it_is_whole, read_metadata, read_tensors
from tests.unit.execution.engines.gguf_files import write_gguf

FIELDS = {
    "general.architecture": "llama",
    "llama.context_length": 2048,
    "llama.rope.freq_base": 1e4,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": ["<|a|>", "b", "ü"],
    "tokenizer.ggml.token_type": [3, 1, 1],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.eot_token_id": 0,
    "tokenizer.chat_template": "{{ messages }}",
}


def test_reads_what_an_engine_needs(tmp_path: Path) -> None:
    metadata = read_metadata(write_gguf(tmp_path / "m.gguf", FIELDS))
    assert (metadata.architecture, metadata.context_length, metadata.tokenizer) == ("llama", 2048, "gpt2")
    assert metadata.tokens == (b"<|a|>", b"b", "ü".encode())
    assert metadata.token_types == (3, 1, 1)
    assert (metadata.bos_id, metadata.eos_id, metadata.end_ids) == (1, 2, (0, 2))
    assert metadata.chat_template == "{{ messages }}"


def test_what_the_file_does_not_say_is_empty(tmp_path: Path) -> None:
    metadata = read_metadata(write_gguf(tmp_path / "m.gguf", {"general.architecture": "qwen2"}))
    assert (metadata.context_length, metadata.eos_id, metadata.end_ids, metadata.chat_template) == (0, -1, (), "")


def test_tells_where_the_tensors_are(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", FIELDS, [("first", (2, 3), 0, b"A" * 24), ("second", (4,), 1, b"B" * 8)])
    first, second = read_tensors(path)
    assert (first.name, first.shape, first.kind) == ("first", (2, 3), 0)
    data = Path(path).read_bytes()
    assert data[first.offset : first.offset + 24] == b"A" * 24
    assert data[second.offset : second.offset + 8] == b"B" * 8


def test_refuses_another_format(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(SetupError, match=r"m\.gguf.*not a whole GGUF file"):
        read_metadata(str(tmp_path / "m.gguf"))


@pytest.mark.parametrize("kept", [0, 3, 20, 60, 200])
def test_refuses_a_truncated_file(tmp_path: Path, kept: int) -> None:
    path = Path(write_gguf(tmp_path / "m.gguf", FIELDS))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(SetupError, match=r"m\.gguf"):
        read_metadata(str(path))


def test_refuses_lengths_that_cannot_be(tmp_path: Path) -> None:
    path = Path(write_gguf(tmp_path / "m.gguf", FIELDS))
    raw = bytearray(path.read_bytes())
    raw[24:32] = b"\xff" * 8
    path.write_bytes(bytes(raw))
    with pytest.raises(SetupError, match="not a whole GGUF file"):
        read_metadata(str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"nothing\.gguf"):
        read_metadata(str(tmp_path / "nothing.gguf"))


def test_a_file_whose_tensors_are_cut_off_is_refused(tmp_path: Path) -> None:
    path = Path(write_gguf(tmp_path / "m.gguf", FIELDS, [("first", (4, 64), 3, b"A" * 160), ("last", (32,), 0, b"B" * 128)]))
    make_sure_it_is_whole(str(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ModelSourceError, match=rf"m\.gguf.*cut off: {len(whole) - 1} bytes, {len(whole)} expected.*models pull"):
        make_sure_it_is_whole(str(path))
    path.write_bytes(whole[:-200])
    with pytest.raises(ModelSourceError, match="cut off"):
        make_sure_it_is_whole(str(path))
