"""Plays cases against a gateway: several at once where time is no matter, one by one where it is."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from antiphon.core.errors import SetupError, Unauthenticated, UpstreamUnreachable
from antiphon.testing.fidelity.caller import Call, Gateway, Request
from antiphon.testing.fidelity.case import Beside, Case, Crowd, Leave, Route
from antiphon.testing.fidelity.outcome import Answer, Miss, Outcome, Wait, miss
from antiphon.testing.fidelity.report import Report, Result
from antiphon.testing.fidelity.stage import Play, Stage, seconds_to_close
from antiphon.testing.fidelity.words import openai

AT_ONCE = 4
"""Cases played at one time."""
PATIENCE = 5.0
"""Seconds that the model's server waits for the caller to have what it has said."""
WATCHED = 4.0
"""Seconds for which the model's server is watched behind a caller's leaving."""
SETTLED = 2.0
"""Seconds behind that in which the model's server must not be asked again."""
BETWEEN = 0.05
"""Seconds between one small question and the next."""

SMALL = Case(id="small-question", right="A small question is answered.", body=openai.ask(), scene=openai.whole("Yes."), checks=())
"""What is asked first of all, and beside large answers."""


class Suite:
    """Plays cases against one gateway. The gateway must send the models to the stage's port."""

    def __init__(self, gateway: Gateway, stage: Stage) -> None:
        self.gateway = gateway
        self._stage = stage
        self._direct = Gateway(f"http://127.0.0.1:{stage.port}")

    async def greet(self) -> None:
        """Ask a small question.

        Raises SetupError, Unauthenticated or UpstreamUnreachable where the suite cannot run against this gateway.
        """
        answer, play = await self._ask(SMALL, self.gateway)
        url, model = self.gateway.url, self.gateway.model
        if not answer.status:
            raise UpstreamUnreachable(
                f"no gateway answers at {url}: {answer.fault}", remedy="start it, or name another with --gateway"
            )
        if answer.status == 401 and not play.asked:
            raise Unauthenticated(f"the gateway at {url} refuses the key", remedy="give one that it knows with --key")
        if not play.asked:
            told = f"it answered {Outcome(answer=answer).summary}"
            raise SetupError(
                f'the gateway at {url} does not send the model "{model}" to port {self._stage.port} of this machine; {told}',
                remedy='configure it as "antiphon fidelity --print-config NAME" shows, or name its model with --model',
            )

    async def offers(self, cases: Sequence[Case]) -> tuple[list[Case], list[tuple[Route, int]]]:
        """The cases whose routes the gateway offers, and the other routes with the number of their cases.

        A route is offered where the question of its first case reaches the model's server.
        """
        firsts: dict[str, Case] = {}
        for case in cases:
            firsts.setdefault(case.route.name, case)
        offered = {}
        for name, case in firsts.items():
            offered[name] = not case.route.optional or bool((await self._ask(case, self.gateway))[1].asked)
        absent = [
            (case.route, sum(other.route.name == name for other in cases)) for name, case in firsts.items() if not offered[name]
        ]
        return [case for case in cases if offered[case.route.name]], absent

    async def run(self, cases: Sequence[Case], tell: Callable[[Result], None] = lambda _: None) -> Report:
        """Play them all; ``tell`` hears of each when it is over."""
        places = asyncio.Semaphore(AT_ONCE)

        async def play(case: Case) -> Result:
            async with places:
                result = await self.play(case)
            tell(result)
            return result

        together = await asyncio.gather(*(play(case) for case in cases if not case.alone))
        alone = [await play(case) for case in cases if case.alone]
        results = {result.id: result for result in (*together, *alone)}
        return Report.of(results[case.id] for case in cases)

    async def play(self, case: Case) -> Result:
        """Play one case."""
        try:
            outcome = await self.outcome(case)
            for check in case.checks:
                check(outcome)
        except Miss as why:
            return Result(case.id, ok=False, why=str(why))
        return Result(case.id, ok=True)

    async def outcome(self, case: Case) -> Outcome:
        """What comes of a case, before it is judged. Raises Miss where it does not come so far."""
        play = self._stage.open(case)
        try:
            outcome = await self._behave(case, play)
        finally:
            self._stage.close(play)
        if outcome.answer.late:
            miss(f"the answer was not complete within {case.limit:g} s; the gateway answered {outcome.summary}")
        return outcome

    async def _behave(self, case: Case, play: Play) -> Outcome:
        match case.caller:
            case Leave():
                return await self._leave(case.caller, case, play)
            case Crowd():
                return await self._crowd(case.caller, case, play)
            case Beside():
                reading = asyncio.create_task(self._read(case, play, self.gateway))
                waits = await self._small_questions(reading)
                return _outcome(case, play, await reading, waits=waits)
        return _outcome(case, play, await self._read(case, play, self.gateway))

    def _call(self, case: Case, play: Play, gateway: Gateway) -> Call:
        route = case.route
        own = tuple((name.encode(), value.encode()) for name, value in case.headers)
        request = Request(route.path, (*gateway.fields(route.callers), *own), play.body(gateway.model_of(route.server)))
        return Call(gateway, request, play.seen, case.limit)

    async def _ask(self, case: Case, gateway: Gateway) -> tuple[Answer, Play]:
        play = self._stage.open(case)
        try:
            return await self._read(case, play, gateway), play
        finally:
            self._stage.close(play)

    async def _read(self, case: Case, play: Play, gateway: Gateway) -> Answer:
        late = asyncio.get_running_loop().call_later(PATIENCE, play.give_up)
        try:
            return await self._call(case, play, gateway).end()
        finally:
            late.cancel()

    async def _leave(self, leave: Leave, case: Case, play: Play) -> Outcome:
        call, after = self._call(case, play, self.gateway), leave.after.encode()
        if after:
            if not await call.until(lambda body: after in body):
                summary = Outcome(answer=await call.leave()).summary
                miss(f'the answer never came to "{leave.after}", where the caller wanted to leave; the gateway answered {summary}')
        elif not await asyncio.to_thread(play.wait_asked, case.limit):
            summary = Outcome(answer=await call.leave()).summary
            miss(f"the model's server was not asked; the gateway answered {summary}")
        left_at = time.monotonic()
        answer = await call.leave()
        play.release()
        return _outcome(case, play, answer, closed_after=await self._closed(play, left_at))

    async def _crowd(self, crowd: Crowd, case: Case, play: Play) -> Outcome:
        calls = [self._call(case, play, self.gateway) for _ in range(crowd.callers)]
        for call in calls:
            call.rest_after(crowd.read)
        reading = asyncio.gather(*(call.until(lambda body: len(body) >= crowd.read) for call in calls))
        waits = await self._small_questions(reading)
        if not all(await reading):
            outcome = Outcome(answer=await calls[0].leave())
            await asyncio.gather(*(call.leave() for call in calls[1:]))
            miss(f"not all of {crowd.callers} streams came so far as {crowd.read} bytes; the first one got {outcome.summary}")
        left_at = time.monotonic()
        answers = await asyncio.gather(*(call.leave() for call in calls))
        closing = asyncio.create_task(self._closed(play, left_at))
        waits += await self._small_questions(closing)
        return _outcome(case, play, answers[0], closed_after=await closing, waits=waits)

    async def _closed(self, play: Play, left_at: float) -> float | None:
        closed_after = await asyncio.to_thread(seconds_to_close, list(play.asked), left_at, WATCHED)
        await asyncio.sleep(max(0.0, left_at + SETTLED - time.monotonic()))
        return closed_after

    async def _small_questions(self, meanwhile: "asyncio.Future[Any]") -> tuple[Wait, ...]:
        """How long small questions wait for their answers, asked one after another until something else is over.

        What the same question takes without the gateway is taken off: then it is this machine that is busy.
        """
        waits: list[Wait] = []
        while not meanwhile.done() or not waits:
            (answer, seconds), (_, without) = await asyncio.gather(self._timed(self.gateway), self._timed(self._direct))
            fault = "" if answer.status == 200 and not answer.fault else answer.fault or Outcome(answer=answer).summary
            waits.append(Wait(max(0.0, seconds - without), fault))
            await asyncio.sleep(BETWEEN)
        return tuple(waits)

    async def _timed(self, gateway: Gateway) -> tuple[Answer, float]:
        began = time.monotonic()
        answer, _ = await self._ask(SMALL, gateway)
        return answer, time.monotonic() - began


def _outcome(case: Case, play: Play, answer: Answer, *, closed_after: float | None = None, waits: tuple[Wait, ...] = ()) -> Outcome:
    return Outcome(
        answer=answer,
        callers=case.route.callers,
        server=case.route.server,
        streamed=case.streamed,
        asked=tuple(play.asked),
        sent=play.sent(),
        closed_after=closed_after,
        held_back=play.held_back,
        waits=waits,
    )
