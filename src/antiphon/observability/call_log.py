"""Writes one line of JSON per finished call, and never makes a call wait for it."""

import contextlib
import logging
import os
import select
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Final

import msgspec

from antiphon.core.events import CallFinished
from antiphon.observability.call_record import CallRecord

MAX_WAITING: Final = 10_000
"""Records kept while the sink is slow."""

MAX_BATCH: Final = 512
"""Records handed to the sink at once."""

MAX_NAME: Final = 200
"""Characters of a name that a caller chose."""

MILLISECONDS: Final = tuple(f".{number:03d}Z" for number in range(1000))
"""How a time of day ends; a table, because formatting a number costs a third of a whole record."""

log = logging.getLogger(__name__)


class DescriptorSink:
    """Writes to a file descriptor, which may be a pipe, a terminal or a file. Blocks until all is written.

    After a write that failed half-way the next one begins on a line of its own, so that one line at most is spoilt.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._torn = False

    def __call__(self, data: bytes) -> None:
        rest = memoryview(b"\n" + data if self._torn else data)
        while rest:
            try:
                written = os.write(self._fd, rest)
            except BlockingIOError:
                select.select([], [self._fd], [])
                continue
            rest = rest[written:]
            self._torn = bool(rest)


class CallLog:
    """Observer that hands finished calls to ``sink``, in batches, from a thread of its own.

    A sink may block for as long as it likes, or raise OSError: calls go on, up to ``max_waiting`` records are kept, the rest are
    lost and counted in ``lost``. What is kept waits ``interval`` seconds at most before the sink gets it. Use ``call_finished``
    from one thread, and ``close`` before the process ends.
    """

    def __init__(self, sink: Callable[[bytes], object], *, max_waiting: int = MAX_WAITING, interval: float = 0.2) -> None:
        self._sink = sink
        self._max_waiting = max_waiting
        self._interval = interval
        self._encode = msgspec.json.Encoder().encode
        self._queue: SimpleQueue[CallFinished | None] = SimpleQueue()
        # each of these counters is written by one thread only, so none needs a lock
        self._accepted = 0
        self._refused = 0
        self._done = 0
        self._failed = 0
        self._down = False
        self._second = -1
        self._date = ""
        self._closing = threading.Event()
        self._writer = threading.Thread(target=self._run, name="call-log", daemon=True)
        self._writer.start()

    @property
    def lost(self) -> int:
        """Records that were given up since the start."""
        return self._refused + self._failed

    def call_finished(self, event: CallFinished) -> None:
        if self._accepted - self._done >= self._max_waiting or self._closing.is_set():
            self._refused += 1
            return
        self._accepted += 1
        self._queue.put(event)

    def _line(self, event: CallFinished) -> bytes:
        """An event as a line of the log. It runs in the log's thread, where a batch of events costs less than one at a time."""
        second = int(event.started_at)
        if second != self._second:  # formatting a date costs as much as all the rest
            self._second = second
            self._date = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        usage = event.usage
        record = CallRecord(
            self._date + MILLISECONDS[int((event.started_at - second) * 1000)],
            event.id,
            event.endpoint,
            event.model[:MAX_NAME],
            event.target,
            event.principal,
            event.status,
            event.error,
            event.stream,
            int(event.duration * 1e6) / 1e3,
            int(event.ttft * 1e6) / 1e3,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
            event.attempts,
            event.client,
            cost=event.cost,
            estimated=event.estimated,
            team=event.team,
            project=event.project,
            application=event.application,
            user=event.user,
            guarded=event.guarded,
        )
        return self._encode(_routed(record, event) if event.route else record)

    def close(self, timeout: float = 5.0) -> None:
        """Write what is waiting. After ``timeout`` seconds the rest is given up and counted. Further calls are not recorded."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._queue.put(None)
        self._writer.join(timeout)
        if self._writer.is_alive():
            left = self._accepted - self._done
            self._refused += left
            log.warning("the call log's sink is too slow; the last %d records are lost", left)

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._queue.get()]
            self._closing.wait(self._interval)  # lets a batch gather, so that busy calls do not wake this thread one by one
            while batch and not ended:
                self._fill(batch)
                ended = batch[-1] is None
                self._deliver([event for event in batch if event is not None])
                batch = []
                self._fill(batch)

    def _fill(self, batch: list[CallFinished | None]) -> None:
        with contextlib.suppress(Empty):
            while len(batch) < MAX_BATCH and (not batch or batch[-1] is not None):
                batch.append(self._queue.get_nowait())

    def _deliver(self, events: list[CallFinished]) -> None:
        lines: list[bytes] = []
        for event in events:
            try:
                lines.append(self._line(event))
            except UnicodeEncodeError:  # a lone surrogate in a name
                self._failed += 1
        try:
            if lines:
                self._sink(b"\n".join(lines) + b"\n")
        except OSError as error:
            if not self._down:
                log.warning("the call log cannot be written (%s); records are lost until it can", error)
            self._down = True
            self._failed += len(lines)
        else:
            self._down = False
        self._done += len(events)


def _routed(record: CallRecord, event: CallFinished) -> CallRecord:
    """The record with what a route decided."""
    return msgspec.structs.replace(
        record,
        route=event.route,
        waited_ms=int(event.waited * 1e6) / 1e3,
        candidates={name: round(score, 4) for name, score in event.candidates.items()},
        hedged=event.hedged,
        degraded=event.degraded,
    )
