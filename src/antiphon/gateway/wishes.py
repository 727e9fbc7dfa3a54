"""What a caller's headers say of how its call should be scheduled.

x-antiphon-tier: 0                     P0, P1 and P2 will do too
x-antiphon-class: realtime             or elastic
x-antiphon-first-token-within: 0.8     seconds
x-antiphon-answer-within: 20           seconds
x-antiphon-session: 4711               calls with the same value have much of their prompt in common
x-antiphon-region: eu-west
"""

from typing import TypeVar

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import NO_WISHES, Wishes
from antiphon.transport.server import Request

T = TypeVar("T", int, bool)

LONGEST = 86400.0
"""Seconds that a caller may allow."""
_TIERS = {b"0": 0, b"1": 1, b"2": 2, b"p0": 0, b"p1": 1, b"p2": 2}
_CLASSES = {b"realtime": True, b"elastic": False}
_MAX_TEXT = 256
_MARK = b"x-antiphon-"


def wishes_of(request: Request) -> Wishes:
    """The wishes of a request. Raises InvalidRequest naming the header at fault."""
    if not any(name.startswith(_MARK) for name in request.fields):
        return NO_WISHES
    return Wishes(
        _one_of(request, b"x-antiphon-tier", _TIERS, "0, 1 or 2"),
        _one_of(request, b"x-antiphon-class", _CLASSES, '"realtime" or "elastic"'),
        _seconds(request, b"x-antiphon-first-token-within"),
        _seconds(request, b"x-antiphon-answer-within"),
        _text(request, b"x-antiphon-session"),
        _text(request, b"x-antiphon-region"),
    )


def _one_of(request: Request, name: bytes, known: dict[bytes, T], words: str) -> T | None:
    value = request.header(name)
    if not value:
        return None
    found = known.get(value.strip().lower())
    if found is None:
        raise _wrong(name, value, words)
    return found


def _seconds(request: Request, name: bytes) -> float:
    value = request.header(name)
    if not value:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise _wrong(name, value, f"a number of seconds above 0 and up to {LONGEST:g}")
    return seconds


def _text(request: Request, name: bytes) -> str:
    value = request.header(name)
    if len(value) > _MAX_TEXT:
        raise _wrong(name, value[:20] + b"...", f"a text of at most {_MAX_TEXT} bytes")
    return value.decode("latin-1")


def _wrong(name: bytes, value: bytes, wanted: str) -> InvalidRequest:
    header = name.decode()
    shown = value[:64].decode("latin-1")
    return InvalidRequest(f'the header {header} is "{shown}"', param=header, remedy=f"give {wanted}, or leave it out")
