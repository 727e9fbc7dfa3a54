"""How the supervisor tells a running worker which of the public sockets are its own."""

import msgspec

from antiphon.core.errors import InternalError

_MARK = b"share "


class Share(msgspec.Struct, frozen=True):
    """The public sockets that a worker shall accept on from now on. Connections that it has stay."""

    number: int
    """Counts the shares of one process, from 1."""
    sockets: tuple[int, ...]
    """All of them, by the supervisor's numbers."""
    arriving: tuple[int, ...] = ()
    """Those of them that it has not yet: their descriptors come ahead of the line, in this order."""


def encode_share(share: Share) -> bytes:
    """The share as one line, which begins as no other message does."""
    return _MARK + msgspec.json.encode(share) + b"\n"


def decode_share(line: bytes) -> Share | None:
    """The reverse of ``encode_share``; None where the line is another message. Raises InternalError where it is broken."""
    if not line.startswith(_MARK):
        return None
    try:
        return msgspec.json.decode(line[len(_MARK) :], type=Share)
    except msgspec.MsgspecError as error:
        raise InternalError(f"the share of the public sockets on standard input is not valid: {error}") from None
