"""``POST /guardrails``: looks for things in long texts, which takes milliseconds, for workers that must not wait so long.

Each guardrail at each text is one piece of work. Next is a piece of that request of which the moment of arrival plus the time that
it takes by itself is the earliest: so a short text does not wait behind long ones, and a long one not for ever.
"""

import asyncio
import heapq
import itertools
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from antiphon.core.errors import EndpointNotFound, QueueFull
from antiphon.core.guardrail import Finding, Guardrail
from antiphon.execution.wire.host_guardrails import FoundTexts, LookFor, decode_look_for, encode_found
from antiphon.transport.server import Request, Responder

MOST_WAIT: Final = 8.0
"""Seconds of work that may be before a request; one more is refused, since its worker would not wait so long."""
FIRST_GUESS: Final = 1e-6
"""Seconds that a guardrail takes for a character, until some have been timed."""
_WEIGHT: Final = 0.05

log = logging.getLogger(__name__)


class _Job:
    """A request, piece by piece."""

    def __init__(self, asked: LookFor, responder: Responder, guardrails: Mapping[str, Guardrail]) -> None:
        self.responder = responder
        self.texts = asked.texts
        self.guardrails = [guardrails[name] for name in asked.guardrails]
        self.found: list[list[list[Finding]]] = [[] for _ in asked.texts]
        self.left = sum(map(len, asked.texts)) * len(self.guardrails)
        """Characters times guardrails."""
        self.gone = False
        self._pieces = iter([(place, guardrail) for place in range(len(self.texts)) for guardrail in self.guardrails])

    def work(self) -> bool:
        """Do one piece, in the thread; whether there was one left."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        place, guardrail = piece
        self.found[place].append(list(guardrail.find(self.texts[place])))
        self.left -= len(self.texts[place])
        return True


class _Waits:
    """Whoever waits for the answer."""

    def __init__(self, job: _Job) -> None:
        self._job = job

    def gone(self) -> None:
        self._job.gone = True

    def pause(self) -> None:
        """The answer is written in one piece."""

    def resume(self) -> None:
        """The answer is written in one piece."""


class Finder:
    """Looks by ``guardrails``, each under the name that workers have for it, on one thread. Create it on the running loop."""

    def __init__(self, guardrails: Mapping[str, Guardrail]) -> None:
        self._guardrails = guardrails
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="find")
        self._line: list[tuple[float, int, _Job]] = []
        self._count = itertools.count().__next__
        self._pace = FIRST_GUESS
        self._busy = False

    def close(self) -> None:
        """Drop what is left and free the thread."""
        self._line.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: Request, responder: Responder) -> None:
        """Answer one request, later. Raises AntiphonError for one that cannot be answered."""
        asked = decode_look_for(request.body)
        if unknown := [name for name in asked.guardrails if name not in self._guardrails]:
            raise EndpointNotFound(f"{len(unknown)} of these guardrails are not known here", remedy="look without this host")
        job = _Job(asked, responder, self._guardrails)
        due = time.monotonic() + job.left * self._pace
        before = sum(other.left for when, _, other in self._line if when <= due and not other.gone) * self._pace
        if before > MOST_WAIT:
            raise QueueFull("too much waits to be looked at", remedy="try again", retry_after=before)
        heapq.heappush(self._line, (due, self._count(), job))
        responder.listener = _Waits(job)
        self._next()

    def _next(self) -> None:
        """Have the thread do the next piece, unless it is at one."""
        while self._line and self._line[0][2].gone:
            heapq.heappop(self._line)
        if self._busy or not self._line:
            return
        self._busy = True
        job = self._line[0][2]
        began, left = time.monotonic(), job.left
        working = asyncio.get_running_loop().run_in_executor(self._thread, job.work)
        working.add_done_callback(lambda done: self._done(job, done, began, left))

    def _done(self, job: _Job, done: "asyncio.Future[bool]", began: float, left: int) -> None:
        self._busy = False
        if done.cancelled():
            return
        if done.exception() is not None:  # which its plugin has promised not to do
            log.error("a guardrail failed", exc_info=done.exception())
            job.gone = True
            job.responder.listener = None
            job.responder.send(500, (), b"")
            self._next()
            return
        characters = left - job.left
        if characters > 1000:
            self._pace += _WEIGHT * ((time.monotonic() - began) / characters - self._pace)
        if not done.result() and not job.gone:
            job.gone = True
            job.responder.listener = None
            job.responder.send(200, ((b"content-type", b"application/json"),), encode_found(FoundTexts(job.found)))
        self._next()
