"""One model that is asked on behalf of a call, and what it has said so far."""

from typing import Final, Protocol

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import Call, Frame, Headers, Usage

MAX_HELD: Final = 65536
"""Bytes without content that are held back before they are passed on all the same."""


class Asker(Protocol):
    """Whoever asks models on behalf of a call."""

    def began(self, attempt: "Attempt") -> Sink | None:
        """It has content: this is the commit point. Gives back where it goes; None where it is not wanted any more."""

    def ended(self, attempt: "Attempt", usage: Usage | None) -> None:
        """The answer is whole, and has been passed on."""

    def failed(self, attempt: "Attempt", error: AntiphonError) -> None:
        """It failed. Nothing of it was passed on unless it had begun."""


class Attempt:
    """Sink of the model that is asked. It holds the head back until the first content, so that another can still be asked."""

    __slots__ = ("_asker", "_handle", "_head", "_held", "_over", "_paused", "_sink", "_size", "number")

    def __init__(self, asker: Asker, number: int) -> None:
        self._asker = asker
        self.number = number
        """Which of the models it is."""
        self._sink: Sink | None = None
        self._head: tuple[int, Headers] | None = None
        self._held: list[Frame] = []
        self._size = 0
        self._handle: Handle | None = None
        self._over = False
        self._paused = False

    @property
    def begun(self) -> bool:
        """What it says is passed on."""
        return self._sink is not None

    def start(self, model: Model, call: Call) -> None:
        """Ask the model."""
        handle = model.start(call, self)
        if self._over:
            handle.cancel("over while it began")
            return
        self._handle = handle
        if self._paused:
            handle.pause()

    # -- sink of the model

    def head(self, status: int, headers: Headers) -> None:
        self._head = (status, headers)

    def frame(self, frame: Frame) -> None:
        if self._sink is not None:
            self._sink.frame(frame)
            return
        if self._over:
            return
        self._held.append(frame)
        self._size += len(frame.raw)
        if frame.content or self._size > MAX_HELD:
            self._commit()

    def end(self, usage: Usage | None) -> None:
        if self._over:
            return
        if self._sink is None and not self._commit():
            return
        self._over = True
        self._handle = None
        self._asker.ended(self, usage)

    def fail(self, error: AntiphonError) -> None:
        if self._over:
            return
        self._over = True
        self._handle = None
        self._held.clear()
        self._asker.failed(self, error)

    def _commit(self) -> bool:
        sink = self._asker.began(self)
        if sink is None or self._over:
            return False
        self._sink = sink
        if self._head is not None:
            sink.head(*self._head)
        held, self._held = self._held, []
        for frame in held:
            sink.frame(frame)
        return not self._over

    # -- for whoever asks

    def cancel(self, reason: str) -> None:
        """Want nothing more of it."""
        self._over = True
        self._held.clear()
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel(reason)

    def pause(self) -> None:
        self._paused = True
        if self._handle is not None:
            self._handle.pause()

    def resume(self) -> None:
        self._paused = False
        if self._handle is not None:
            self._handle.resume()
