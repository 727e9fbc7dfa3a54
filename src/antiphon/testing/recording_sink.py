"""A sink that keeps what it hears and holds whoever calls it to the protocol."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Frame, Headers, Usage


class RecordingSink:
    """Implements ``core.ports.Sink``.

    A call out of order raises AssertionError in the caller and stays in ``violations``, for callers that swallow it; ``check``
    raises them again.
    """

    def __init__(self, on_frame: Callable[[Frame], None] | None = None) -> None:
        self.status: int | None = None
        self.headers: Headers = ()
        self.frames: list[Frame] = []
        self.usage: Usage | None = None
        self.error: AntiphonError | None = None
        self.ended = False
        self.violations: list[str] = []
        self._on_frame = on_frame
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def finished(self) -> bool:
        """``end`` or ``fail`` has come."""
        return self.ended or self.error is not None

    @property
    def body(self) -> bytes:
        """All frames, joined."""
        return b"".join(frame.raw for frame in self.frames)

    @property
    def events(self) -> list[Any]:
        """The data of each server-sent event, decoded where it is JSON."""
        return [_decode(data) for data in event_data(self.body)]

    @property
    def text(self) -> str:
        """The text of the first choice, of a chat or completion answer, streamed or whole."""
        whole = _decode(self.body)
        return "".join(_first_text(answer) for answer in ([whole] if isinstance(whole, dict) else self.events))

    def head(self, status: int, headers: Headers) -> None:
        self._keep(not self.finished, "head after the answer was over")
        self._keep(self.status is None, "a second head")
        self._keep(not self.frames, "head after a frame")
        self.status = status
        self.headers = headers

    def frame(self, frame: Frame) -> None:
        self._keep(not self.finished, "frame after the answer was over")
        self._keep(self.status is not None, "frame before the head")
        self.frames.append(frame)
        if self._on_frame is not None:
            self._on_frame(frame)

    def end(self, usage: Usage | None) -> None:
        self._keep(not self.finished, "a second terminal call: end")
        self._keep(self.status is not None, "end before the head")
        self.ended = True
        self.usage = usage
        self._wake()

    def fail(self, error: AntiphonError) -> None:
        self._keep(not self.finished, "a second terminal call: fail")
        self._keep(isinstance(error, AntiphonError), f"fail with {type(error).__name__}, which is no AntiphonError")
        self.error = error
        self._wake()

    def check(self) -> None:
        """Raise AssertionError if the protocol was broken at any time."""
        if self.violations:
            raise AssertionError("sink protocol broken: " + "; ".join(self.violations))

    async def wait(self, within: float = 5.0) -> None:
        """Until ``end`` or ``fail``; TimeoutError after ``within`` seconds. Checks the protocol."""
        if not self.finished:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await asyncio.wait_for(waiter, within)
        self.check()

    def _keep(self, condition: bool, violation: str) -> None:
        if not condition:
            self.violations.append(violation)
            raise AssertionError(f"sink protocol broken: {violation}")

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


def event_data(stream: bytes) -> list[bytes]:
    """The ``data`` of each event of an event stream, whatever its line ends; comments are left out."""
    found: list[bytes] = []
    for block in stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        if lines:
            found.append(b"\n".join(lines))
    return found


def _decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return data.decode(errors="replace")


def _first_text(answer: Any) -> str:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not choices or choices[0].get("index", 0) != 0:
        return ""
    said = choices[0].get("delta") or choices[0].get("message") or choices[0]
    return str(said.get("content") or said.get("text") or "")
