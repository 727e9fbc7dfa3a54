"""What workers and the coordinator tell each other: frames of MessagePack over a Unix socket.

Every number has one writer, who tells its absolute value. So a message may be repeated, and after a break each side just tells all.

``granted`` (the coordinator's) is what a worker was ever given of an account, ``drawn`` (the worker's) what it took of that, for
reservations or to give back; the difference is its escrow. ``Slot`` rows (the worker's) are what it has reserved and ever settled.
"""

import struct
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

MAX_FRAME: Final = 64 << 20
"""Bytes; a longer frame is not one of ours."""

Slot = tuple[int, int, int]
"""Number of the slot, reserved, settled."""


class _Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A frame."""


class Report(msgspec.Struct, frozen=True, array_like=True):
    """How a worker's share of an account is now."""

    account: str
    window: str
    drawn: int
    slots: tuple[Slot, ...]
    """Those that changed."""
    retired: bool = False
    """The worker forgets this account, and has given back everything that it had of it."""


class Want(msgspec.Struct, frozen=True, array_like=True):
    """What a worker wants of one account."""

    account: str
    window: str
    amount: int
    pledge: int
    """What it has in escrow and puts in; it is the coordinator's again from now on."""
    capacity: int
    usual: int = 0
    """What a call usually wants: the measure for what is given beyond the amount."""
    open: bool = False
    """The limit passes calls while the account cannot be kept."""


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """All wants or none."""

    id: int
    wants: tuple[Want, ...]


class Hello(_Message, frozen=True, tag="hello"):
    """First message of a connection, with all that the worker has."""

    session: str
    reports: tuple[Report, ...]


class Told(_Message, frozen=True, tag="told"):
    """A worker's news."""

    number: int
    reports: tuple[Report, ...] = ()
    asks: tuple[Ask, ...] = ()
    recalled: tuple[int, ...] = ()
    """Recalls that are answered by these reports."""


class Look(_Message, frozen=True, tag="look"):
    """How does an account stand?"""

    id: int
    account: str
    window: str


class Bye(_Message, frozen=True, tag="bye"):
    """The worker ends. What it still held is free, what it settled has been told."""


class Share(msgspec.Struct, frozen=True, array_like=True):
    """What a worker has been granted of one account."""

    account: str
    window: str
    granted: int
    tight: bool = False
    """The account is near its limit: nothing may lie idle with a worker."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """To an ``Ask``."""

    id: int
    shares: tuple[Share, ...]
    refused: int = -1
    """Which want has no room; -1 where all were granted."""
    retry_after: float | None = None
    unavailable: bool = False
    """The coordinator cannot keep accounts just now."""


class Recall(msgspec.Struct, frozen=True, array_like=True):
    """Give back what lies idle."""

    id: int
    account: str
    window: str


class Welcome(_Message, frozen=True, tag="welcome"):
    """Answer to ``Hello``: what the worker's shares are from now on."""

    epoch: int
    """Rises with every start of the coordinator."""
    lease: float
    """Seconds of silence after which the coordinator takes everything back."""
    revived: bool
    """The lease had ended: no reservation counts any more."""
    shares: tuple[Share, ...]


class News(_Message, frozen=True, tag="news"):
    """The coordinator's news."""

    acknowledged: int
    answers: tuple[Answer, ...] = ()
    recalls: tuple[Recall, ...] = ()


class Seen(_Message, frozen=True, tag="seen"):
    """Answer to ``Look``."""

    id: int
    settled: int
    reserved: int
    escrowed: int


FromWorker = Hello | Told | Look | Bye
FromCoordinator = Welcome | News | Seen

_encode: Final = msgspec.msgpack.Encoder().encode
_LENGTH: Final = struct.Struct("<I")

T = TypeVar("T")


class Malformed(Exception):
    """The peer sent what is no frame of this protocol."""


def frame(message: FromWorker | FromCoordinator) -> bytes:
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
