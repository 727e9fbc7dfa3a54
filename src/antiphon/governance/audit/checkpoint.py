"""Checkpoints: how far a chain had come, signed with Ed25519 (RFC 8032), so that a tail that is cut off later is missed."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_RAW: Final = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
_FINGERPRINT: Final = 16
"""Hexadecimal digits by which a key is told from others."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file of checkpoints."""

    chain: str
    index: int
    """Counts the checkpoints of the chain, from 1."""
    kind: Literal["checkpoint", "cut"]
    """``cut``: all records up to ``number`` were deleted because their time was over."""
    number: int
    """Of the last record that it is about."""
    hash: str
    """Of that record."""
    at: float
    """Unix time, seconds."""
    key: str
    """The first digits of the SHA-256 of the public key."""
    signature: str = ""
    """Ed25519, in hexadecimal digits, of the line's JSON without it: keys sorted, no blanks."""


class Signer:
    """A private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = public_hex(key.public_key())
        """The public key, 32 bytes in hexadecimal digits."""

    def sign(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint, signed with this key."""
        named = msgspec.structs.replace(checkpoint, key=fingerprint(self.public))
        return msgspec.structs.replace(named, signature=self._key.sign(_signed(named)).hex())


def public_hex(key: Ed25519PublicKey) -> str:
    """A public key in hexadecimal digits."""
    return key.public_bytes(*_RAW).hex()


def fingerprint(public: str) -> str:
    """By what a public key is named in checkpoints."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:_FINGERPRINT]


def by_fingerprint(keys: Iterable[str]) -> dict[str, Ed25519PublicKey]:
    """Public keys, given in hexadecimal digits, by their fingerprints. Raises ValueError where one is none."""
    return {fingerprint(key): Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) for key in keys}


def encode(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as a line, with its end."""
    return _encode(checkpoint) + b"\n"


def decode(line: bytes) -> Checkpoint:
    """A line as a checkpoint. Raises msgspec.MsgspecError or UnicodeDecodeError."""
    return _decode(line)


_decode = msgspec.json.Decoder(Checkpoint).decode


def is_signed(checkpoint: Checkpoint, keys: Mapping[str, Ed25519PublicKey]) -> bool:
    """Whether one of these keys signed it."""
    key = keys.get(checkpoint.key)
    if key is None:
        return False
    try:
        key.verify(bytes.fromhex(checkpoint.signature), _signed(checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True


def _signed(checkpoint: Checkpoint) -> bytes:
    told = msgspec.to_builtins(checkpoint)
    del told["signature"]
    return _encode(told)
