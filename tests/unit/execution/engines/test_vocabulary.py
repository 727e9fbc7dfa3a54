from hypothesis import given
from hypothesis import strategies as st

from antiphon.execution.engines._gguf import GgufMetadata
from antiphon.execution.engines._vocabulary import (
    byte_level_piece,
    gguf_control_tokens,
    gguf_end_ids,
    gguf_pieces,
    plain_pieces,
    sentencepiece_piece,
)


def written_as_byte_level(data: bytes) -> str:
    """The encoding of GPT-2, written the other way round than the code under test."""
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    chars = {byte: chr(byte) for byte in kept}
    for byte in range(256):
        chars.setdefault(byte, chr(256 + len(chars) - len(kept)))
    return "".join(chars[byte] for byte in data)


def metadata(tokenizer: str, tokens: list[str], types: list[int], end_ids: tuple[int, ...] = ()) -> GgufMetadata:
    raw = tuple(token.encode() for token in tokens)
    return GgufMetadata("llama", 0, tokenizer, raw, tuple(types), -1, -1, end_ids, "")


@given(st.binary(max_size=40))
def test_byte_level_pieces_come_back_exactly(data: bytes) -> None:
    assert byte_level_piece(written_as_byte_level(data).encode()) == data


def test_sentencepiece_pieces() -> None:
    assert sentencepiece_piece("▁the".encode()) == b" the"
    assert sentencepiece_piece(b"<0xE4>") == b"\xe4"
    assert sentencepiece_piece(b"<0xG4>") == b"<0xG4>"


def test_gguf_pieces_of_byte_level_bpe() -> None:
    found = gguf_pieces(metadata("gpt2", ["<|im_start|>", "Ġhi", "é tool", "old"], [3, 1, 4, 5]))
    assert found == (b"", b" hi", "é tool".encode(), b"")


def test_gguf_pieces_of_sentencepiece() -> None:
    assert gguf_pieces(metadata("llama", ["<unk>", "<0x0A>", "▁a"], [2, 6, 1])) == (b"", b"\n", b" a")


def test_end_tokens_are_the_declared_and_the_usual_ones() -> None:
    assert gguf_end_ids(metadata("gpt2", ["<|endoftext|>", "<|im_end|>", "x", "</s>"], [3, 3, 1, 1], (2,))) == (0, 1, 2)


def test_control_tokens_are_told_by_their_text() -> None:
    assert gguf_control_tokens(metadata("gpt2", ["<|a|>", "b", "<unk>"], [3, 1, 2])) == ("<|a|>", "<unk>")


def test_plain_pieces_leave_gaps_and_control_tokens_empty() -> None:
    assert plain_pieces({b"a": 0, "▁b".encode(): 2, b"<s>": 3, b"out": 9}, [3], 5) == (b"a", b"", b" b", b"", b"")
