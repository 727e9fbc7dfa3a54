"""The bytes that each token of a vocabulary stands for, and the tokens that end a text."""

import re
from collections.abc import Sequence
from typing import Final

from antiphon.execution.engines._gguf import GgufMetadata

_UNKNOWN: Final = 2
_CONTROL: Final = 3
_USER_DEFINED: Final = 4
_UNUSED: Final = 5
_SPACE: Final = "\u2581".encode()
_BYTE_PIECE: Final = re.compile(rb"<0x([0-9A-Fa-f]{2})>")

END_PIECES: Final = frozenset(
    {
        b"<|endoftext|>",
        b"<|im_end|>",
        b"<|eot_id|>",
        b"<|eom_id|>",
        b"<|end_of_text|>",
        b"<|end|>",
        b"<end_of_turn>",
        b"</s>",
        b"<EOT>",
    }
)
"""Control tokens by which the usual model families end a turn or a text, whichever of them a file declares."""


def _byte_of_char() -> dict[str, int]:
    """The table of byte-level BPE: printable Latin-1 bytes stand for themselves, the others for U+0100 onwards.

    Source: GPT-2, https://github.com/openai/gpt-2/blob/master/src/encoder.py.
    """
    themselves = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    table = {chr(byte): byte for byte in themselves}
    others = (byte for byte in range(256) if byte not in themselves)
    table.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return table


_BYTES: Final = _byte_of_char()


def byte_level_piece(piece: bytes) -> bytes:
    """Bytes of a token written in the alphabet of byte-level BPE; text outside of that alphabet stands for itself."""
    try:
        return bytes(_BYTES[char] for char in piece.decode())
    except (KeyError, UnicodeDecodeError):
        return piece


def sentencepiece_piece(piece: bytes) -> bytes:
    """Bytes of a SentencePiece token: ``<0xNN>`` is a byte, U+2581 a space."""
    match = _BYTE_PIECE.fullmatch(piece)
    return bytes.fromhex(match[1].decode()) if match else piece.replace(_SPACE, b" ")


def gguf_pieces(metadata: GgufMetadata) -> tuple[bytes, ...]:
    """Bytes of each token of a GGUF file by id; empty for control and unused tokens."""
    types = metadata.token_types or (1,) * len(metadata.tokens)
    plain = byte_level_piece if metadata.tokenizer == "gpt2" else sentencepiece_piece
    silent = {_CONTROL, _UNUSED, _UNKNOWN}
    verbatim = silent | {_USER_DEFINED}
    return tuple(
        plain(piece) if kind not in verbatim else b"" if kind in silent else piece
        for piece, kind in zip(metadata.tokens, types, strict=True)
    )


def gguf_control_tokens(metadata: GgufMetadata) -> tuple[str, ...]:
    """Texts of the control tokens of a GGUF file."""
    pairs = zip(metadata.tokens, metadata.token_types, strict=False)
    return tuple(piece.decode("utf-8", "replace") for piece, kind in pairs if kind in (_CONTROL, _UNKNOWN))


def gguf_end_ids(metadata: GgufMetadata) -> tuple[int, ...]:
    """Ids of the tokens that end a text: those that the file declares and its control tokens of ``END_PIECES``."""
    types = metadata.token_types or (_CONTROL,) * len(metadata.tokens)
    known = (
        token
        for token, (piece, kind) in enumerate(zip(metadata.tokens, types, strict=True))
        if kind in (_CONTROL, _UNKNOWN) and piece in END_PIECES
    )
    return tuple(sorted({*metadata.end_ids, *known}))


def plain_pieces(vocabulary: dict[bytes, int], control: Sequence[int], size: int) -> tuple[bytes, ...]:
    """Bytes of each token of a vocabulary whose keys are already plain bytes or SentencePiece pieces."""
    pieces = [b""] * size
    for piece, token in vocabulary.items():
        if 0 <= token < size:
            pieces[token] = sentencepiece_piece(piece)
    for token in control:
        pieces[token] = b""
    return tuple(pieces)
