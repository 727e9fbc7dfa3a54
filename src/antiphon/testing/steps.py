"""The words of a script: what a fake model or a mock upstream does, one step after another."""

import threading
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from antiphon.core.errors import AntiphonError


class Status(msgspec.Struct, frozen=True):
    """The status line.

    Given, the head goes out before any delay that follows; left out, it is 200 and the head goes with the first body bytes.
    """

    code: int = 200
    reason: str = ""


class Header(msgspec.Struct, frozen=True):
    """One header field of the answer. ``content-length`` and ``transfer-encoding`` given here replace the right ones."""

    name: str
    value: str


class Body(msgspec.Struct, frozen=True):
    """Bytes of the body: bytes and strings as they are, anything else as JSON."""

    data: Any = b""


class Event(msgspec.Struct, frozen=True):
    """One server-sent event: bytes and strings as they are, a ``data`` line for each of their lines; anything else as JSON."""

    data: Any = b""
    event: str = ""
    id: str = ""


class Comment(msgspec.Struct, frozen=True):
    """A comment line of the event stream, as keep-alives are sent."""

    text: str = "keep-alive"


class Done(msgspec.Struct, frozen=True):
    """The event ``[DONE]`` that ends a stream of the OpenAI API."""


class Raw(msgspec.Struct, frozen=True):
    """Bytes on the connection, with no framing of ours around them or behind them.

    A script that begins with it writes its own head. The connection is closed behind the script.
    """

    data: bytes


class Delay(msgspec.Struct, frozen=True):
    """Silence for so many seconds."""

    seconds: float


class Hang(msgspec.Struct, frozen=True):
    """Silence for ever, until the other side goes."""


class Cut(msgspec.Struct, frozen=True):
    """The connection is closed in the middle of the answer: politely (FIN), or with ``reset`` by a RST."""

    reset: bool = False


class Fail(msgspec.Struct, frozen=True):
    """The fake model fails with this error."""

    error: AntiphonError


class Gate:
    """The script waits here until the test calls ``open``. A test that holds gates needs no delays. Not for FakeModel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: list[Callable[[], None]] = []
        self.is_open = False

    def open(self) -> None:
        """Let through whoever waits and whoever comes. From any thread."""
        with self._lock:
            self.is_open = True
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()

    def wait(self, within: float = 5.0) -> bool:
        """Block until the gate is open, for so many seconds at most; whether it is."""
        opened = threading.Event()
        self.on_open(opened.set)
        return opened.wait(within)

    def on_open(self, waiter: Callable[[], None]) -> None:
        """Call ``waiter`` once the gate is open, perhaps at once and perhaps from another thread."""
        with self._lock:
            if not self.is_open:
                self._waiters.append(waiter)
                return
        waiter()


class Wire(msgspec.Struct, frozen=True):
    """How an answer is cut into bytes."""

    framing: Literal["auto", "chunked", "length", "close"] = "auto"
    """``auto``: content-length for plain bodies, chunked for events. ``close``: the end of the connection ends the body."""
    newline: Literal["\n", "\r\n"] = "\n"
    """Line end inside the event stream."""
    write_size: int = 0
    """Bytes per write: 1 is byte by byte, cutting characters, chunk sizes and head anywhere. 0: one write per step."""
    merge: int = 1
    """Body steps that go into one write and one chunk; delays and the like end a group early. 0: as many as there are."""
    gap: float = 0.0
    """Seconds between two writes."""


PLAIN = Wire()
"""Good manners."""

Step: TypeAlias = Status | Header | Body | Event | Comment | Done | Raw | Delay | Hang | Cut | Gate
"""What a script of MockUpstream is made of."""

ModelStep: TypeAlias = Status | Header | Body | Event | Comment | Done | Delay | Hang | Cut | Fail
"""What a script of FakeModel is made of."""


class Script(msgspec.Struct, frozen=True):
    """Steps, and how they are cut into bytes."""

    steps: tuple[Step, ...]
    wire: Wire = PLAIN


def payload(step: Body | Event | Comment | Done, newline: str = "\n") -> bytes:
    """The body bytes that a step stands for."""
    end = newline.encode()
    if isinstance(step, Body):
        return as_bytes(step.data)
    if isinstance(step, Comment):
        return b": " + step.text.encode() + end + end
    if isinstance(step, Done):
        return b"data: [DONE]" + end + end
    lines = [b"event: " + step.event.encode()] if step.event else []
    if step.id:
        lines.append(b"id: " + step.id.encode())
    lines += [b"data: " + line for line in as_bytes(step.data).split(b"\n")]
    return end.join(lines) + end + end


def as_bytes(data: Any) -> bytes:
    """Bytes as they are, text as UTF-8, anything else as JSON."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    return msgspec.json.encode(data)
