"""From a script to bytes, and from bytes to a connection, as badly behaved as the script says."""

import asyncio
import http
import socket
import struct
from collections.abc import Sequence

import msgspec

from antiphon.testing.steps import (
    PLAIN,
    Body,
    Comment,
    Cut,
    Delay,
    Done,
    Event,
    Gate,
    Hang,
    Header,
    Raw,
    Status,
    Step,
    Wire,
    payload,
)

_WRITES_PER_TURN = 256
"""Writes after which other connections get their turn."""

Act = bytes | Delay | Gate | Hang | Cut
"""What a connection does: write, or something else."""


class Play(msgspec.Struct, frozen=True):
    """A script, ready to be written."""

    acts: tuple[Act, ...]
    close: bool
    """The connection cannot be used again."""
    write_size: int = 0
    gap: float = 0.0


def compile_script(steps: Sequence[Step], wire: Wire = PLAIN) -> Play:
    """Put the head where it belongs and frame the body."""
    writer = _ScriptWriter(steps, wire)
    for step in steps:
        writer.take(step)
    return Play(tuple(writer.finish()), writer.close, wire.write_size, wire.gap)


class _ScriptWriter:
    def __init__(self, steps: Sequence[Step], wire: Wire) -> None:
        self._wire = wire
        self._newline = wire.newline
        self._status = Status()
        self._headers: list[Header] = []
        self._head_due = not (steps and isinstance(steps[0], Raw))
        self._status_given = False
        self._group: list[bytes] = []
        self._acts: list[Act] = []
        self._framing = _framing(steps, wire)
        self._length = sum(len(payload(step, self._newline)) for step in steps if isinstance(step, Body | Event | Comment | Done))
        self._events = any(isinstance(step, Event | Comment | Done) for step in steps)
        self._raw = False
        self.close = self._framing in {"close", "given"}

    def take(self, step: Step) -> None:
        if isinstance(step, Status):
            self._status, self._status_given = step, True
        elif isinstance(step, Header):
            self._headers.append(step)
        elif isinstance(step, Body | Event | Comment | Done):
            self._write_head()
            self._group.append(payload(step, self._newline))
            if self._wire.merge and len(self._group) >= self._wire.merge:
                self._flush()
        else:
            self._act(step)

    def finish(self) -> list[Act]:
        self._write_head()
        self._flush()
        if self._framing == "chunked" and not self._raw:
            self._acts.append(b"0\r\n\r\n")
        return self._acts

    def _act(self, step: Raw | Delay | Gate | Hang | Cut) -> None:
        if self._status_given:
            self._write_head()
        self._flush()
        if isinstance(step, Raw):
            self._raw = self.close = True
            self._acts.append(step.data)
            return
        if isinstance(step, Cut | Hang):
            self._head_due = False
            self._raw = True
        self._acts.append(step)

    def _flush(self) -> None:
        data = b"".join(self._group)
        self._group.clear()
        if data:
            self._acts.append(b"%x\r\n%b\r\n" % (len(data), data) if self._framing == "chunked" else data)

    def _write_head(self) -> None:
        if not self._head_due:
            return
        self._head_due = False
        names = {header.name.lower() for header in self._headers}
        lines = [f"HTTP/1.1 {self._status.code} {self._status.reason or _reason(self._status.code)}"]
        lines += [f"{header.name}: {header.value}" for header in self._headers]
        if "content-type" not in names:
            lines.append("content-type: " + ("text/event-stream; charset=utf-8" if self._events else "application/json"))
        if self._framing == "chunked":
            lines.append("transfer-encoding: chunked")
        elif self._framing == "length":
            lines.append(f"content-length: {self._length}")
        elif self._framing == "close":
            lines.append("connection: close")
        self._acts.append("\r\n".join([*lines, "", ""]).encode("latin-1"))


def _framing(steps: Sequence[Step], wire: Wire) -> str:
    given = {step.name.lower() for step in steps if isinstance(step, Header)}
    if given & {"content-length", "transfer-encoding"}:
        return "given"
    if wire.framing != "auto":
        return wire.framing
    return "chunked" if any(isinstance(step, Event | Comment | Done | Raw) for step in steps) else "length"


def _reason(code: int) -> str:
    try:
        return http.HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"


class Player:
    """Writes plays to one connection."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable = asyncio.Event()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def play(self, play: Play) -> bool:
        """Write it all; False where the script or the client cut the connection."""
        for count, act in enumerate(play.acts):
            if self._transport.is_closing():
                return False
            if isinstance(act, bytes):
                await self._write(act, play)
            elif isinstance(act, Cut):
                self._cut(act)
                return False
            else:
                await _wait(act)
            if count % _WRITES_PER_TURN == _WRITES_PER_TURN - 1:
                await asyncio.sleep(0)
        return True

    async def _write(self, data: bytes, play: Play) -> None:
        size = play.write_size or len(data)
        for begin in range(0, len(data), size):
            if self._transport.is_closing():
                return
            self._transport.write(data[begin : begin + size])
            await self._writable.wait()
            if play.write_size or play.gap:
                await asyncio.sleep(play.gap)

    def _cut(self, cut: Cut) -> None:
        if not cut.reset:
            self._transport.close()
            return
        connection = self._transport.get_extra_info("socket")
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


async def _wait(act: Delay | Gate | Hang) -> None:
    if isinstance(act, Delay):
        await asyncio.sleep(act.seconds)
        return
    opened = asyncio.Event()
    if isinstance(act, Gate):
        loop = asyncio.get_running_loop()
        act.on_open(lambda: _tell(loop, opened))
    await opened.wait()


def _tell(loop: asyncio.AbstractEventLoop, opened: asyncio.Event) -> None:
    """Set an event of another thread's loop; a gate may be opened after the loop has ended."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(opened.set)
