"""The queue before the encoder: bounded, fair, and worked off by one thread.

A turn of some hundred tokens takes a text of each waiting request, over and over: a short question does not wait behind a library,
and many short questions share one pass, which takes a third of the time that they would take one by one. The queue itself is
touched on the event loop only.
"""

import asyncio
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from antiphon.core.errors import AntiphonError, QueueFull, UpstreamTimeout
from antiphon.core.ports import Encoder
from antiphon.execution.compute_host.limits import ComputeLimits
from antiphon.execution.compute_host.requests import EmbeddingRequest
from antiphon.execution.compute_host.turn import Progress, take_turn

FIRST_GUESS = 20_000.0
"""Characters per second assumed until turns have been timed."""

_WEIGHT = 0.1
"""Share of the newest turn in the running mean of the speed."""

_MOST_AT_ONCE = 128
"""Requests that one turn looks at: at three tokens for the shortest text, no more fit into it."""

Done = Callable[[bytes], None]
Failed = Callable[[AntiphonError], None]


class Job:
    """A request on its way: waiting, in work, or over."""

    def __init__(self, request: EmbeddingRequest, done: Done, failed: Failed) -> None:
        self.request = request
        self.done = done
        self.failed = failed
        self.progress = Progress(request)
        self.timer: asyncio.TimerHandle | None = None
        self.over = False


class EncodeQueue:
    """Takes jobs for one encoder. Create it on the running loop."""

    def __init__(self, encoder: Encoder, limits: ComputeLimits) -> None:
        self.encoded_texts = 0
        self.encoded_tokens = 0
        self.running = 0
        """Jobs in the turn that is being taken."""
        self._encoder = encoder
        self._limits = limits
        self._jobs: set[Job] = set()
        self._line: deque[Job] = deque()
        self._texts = 0
        self._characters = 0
        self._speed = FIRST_GUESS
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encode")

    @property
    def waiting(self) -> int:
        """Jobs that wait for their next turn."""
        return len(self._line)

    def submit(self, job: Job) -> None:
        """Take a job. ``done`` or ``failed`` is called once, and later, unless it is cancelled. Raises QueueFull."""
        self._check_room(job.request)
        self._jobs.add(job)
        self._texts += len(job.request.texts)
        self._characters += job.request.characters
        job.timer = self._loop.call_later(self._limits.deadline, self._expire, job)
        self._line.append(job)
        self._next()

    def cancel(self, job: Job) -> None:
        """Drop a job; if it is in work, the present turn is its last. Does nothing where it is over."""
        if not job.over:
            self._remove(job)

    def close(self) -> None:
        """Drop all jobs and let the thread end."""
        for job in list(self._jobs):
            self._remove(job)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _check_room(self, request: EmbeddingRequest) -> None:
        limits = self._limits
        if (
            len(self._jobs) < limits.max_waiting
            and self._texts + len(request.texts) <= limits.max_waiting_texts
            and self._characters + request.characters <= limits.max_waiting_characters
        ):
            return
        seconds = min(max(1, math.ceil(self._characters / self._speed)), math.ceil(limits.deadline))
        raise QueueFull(
            f"the encoder's queue is full: {len(self._jobs)} requests with {self._texts:,} texts wait",
            remedy=f"try again in {seconds} s",
            retry_after=seconds,
        )

    def _next(self) -> None:
        if self.running or not self._line:
            return
        jobs = list(itertools.islice(self._line, _MOST_AT_ONCE))
        for _ in jobs:
            self._line.popleft()
        self.running = len(jobs)
        before = [len(job.progress.vectors) for job in jobs]
        started = self._loop.time()
        turn = self._loop.run_in_executor(self._thread, take_turn, self._encoder, [job.progress for job in jobs], self._limits)
        turn.add_done_callback(lambda done: self._turned(done, jobs, before, started))

    def _turned(self, turn: "asyncio.Future[int]", jobs: Sequence[Job], before: Sequence[int], started: float) -> None:
        self.running = 0
        if turn.cancelled():
            return
        seconds = max(self._loop.time() - started, 1e-6)
        self._speed += _WEIGHT * (turn.result() / seconds - self._speed)
        unreached = []
        for job, had in zip(jobs, before, strict=True):
            new = len(job.progress.vectors) - had
            self.encoded_texts += new
            if self._settled(job):
                continue
            if new:
                self._line.append(job)
            else:
                unreached.append(job)
        self._line.extendleft(reversed(unreached))
        self._next()

    def _settled(self, job: Job) -> bool:
        """Whether nothing is left to do for a job."""
        progress = job.progress
        if progress.error is not None:
            self._fail(job, progress.error)
        elif progress.body and not job.over:
            self._remove(job)
            self.encoded_tokens += progress.tokens
            job.done(progress.body)
        return job.over

    def _expire(self, job: Job) -> None:
        error = UpstreamTimeout(
            f"the encoder had no answer within {self._limits.deadline:g} s", remedy="send fewer texts at once, or try again later"
        )
        self._fail(job, error)

    def _fail(self, job: Job, error: AntiphonError) -> None:
        if not job.over:
            self._remove(job)
            job.failed(error)

    def _remove(self, job: Job) -> None:
        job.over = True
        if job.timer is not None:
            job.timer.cancel()
        self._jobs.discard(job)
        self._texts -= len(job.request.texts)
        self._characters -= job.request.characters
        if job in self._line:
            self._line.remove(job)
