"""Messages as they go over the Unix socket: MessagePack behind its length."""

import struct
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from antiphon.dispatch.coordinator.breakers import messages as breakers
from antiphon.dispatch.coordinator.ledger import messages as ledger
from antiphon.dispatch.coordinator.party import Message
from antiphon.dispatch.coordinator.schedules import messages as schedules

MAX_FRAME: Final = 64 << 20
"""Bytes; a longer frame is not one of ours."""

FromWorker = ledger.FromWorker | breakers.FromWorker | schedules.FromWorker
FromCoordinator = ledger.FromCoordinator | breakers.FromCoordinator | schedules.FromCoordinator

_encode: Final = msgspec.msgpack.Encoder().encode
_LENGTH: Final = struct.Struct("<I")

T = TypeVar("T")


class Malformed(Exception):
    """The peer sent what is no frame of this protocol."""


def frame(message: Message) -> bytes:
    """A message as it goes over the socket."""
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


class Frames(Generic[T]):
    """Puts messages together from pieces of bytes."""

    def __init__(self, decode: Callable[[bytes], T]) -> None:
        self._decode = decode
        self._rest = b""

    def feed(self, data: bytes) -> list[T]:
        """The messages that are complete now. Raises Malformed."""
        data = self._rest + data if self._rest else data
        found: list[T] = []
        position = 0
        while len(data) - position >= 4:
            (length,) = _LENGTH.unpack_from(data, position)
            if length > MAX_FRAME:
                raise Malformed(f"a frame of {length} bytes")
            if len(data) - position - 4 < length:
                break
            try:
                found.append(self._decode(data[position + 4 : position + 4 + length]))
            except msgspec.MsgspecError as error:
                raise Malformed(str(error)) from error
            position += 4 + length
        self._rest = data[position:]
        return found


def from_workers() -> Frames[FromWorker]:
    """Reads what a worker sends."""
    return Frames(msgspec.msgpack.Decoder(FromWorker).decode)


def from_coordinator() -> Frames[FromCoordinator]:
    """Reads what the coordinator sends."""
    return Frames(msgspec.msgpack.Decoder(FromCoordinator).decode)
