"""Long texts wait for short ones, and nobody waits for who has gone."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from antiphon.core.errors import EndpointNotFound, QueueFull
from antiphon.core.guardrail import Finding
from antiphon.execution.compute_host import finder as module
from antiphon.execution.compute_host.finder import Finder
from antiphon.execution.wire.host_guardrails import LookFor, decode_found, encode_look_for
from antiphon.transport.server import Request


class Gate:
    """A guardrail that works when it is let, and remembers on how long a text."""

    reach: int | None = 1

    def __init__(self) -> None:
        self.open = threading.Semaphore(0)
        self.looked: list[int] = []

    def find(self, text: str) -> Sequence[Finding]:
        assert self.open.acquire(timeout=10)
        self.looked.append(len(text))
        return [Finding(0, 1, "X")]


class Answer:
    """What a worker's connection hears."""

    def __init__(self) -> None:
        self.listener: Any = None
        self.status = 0
        self.body = b""

    def send(self, status: int, headers: object, body: bytes) -> None:
        self.status, self.body = status, body


def ask(finder: Finder, *texts: str, guardrails: Sequence[str] = ("gate",)) -> Answer:
    answer = Answer()
    request = Request("POST", b"/guardrails", {}, encode_look_for(LookFor(list(guardrails), list(texts))))
    finder.answer(request, answer)
    return answer


async def until(*answers: Answer) -> None:
    async with asyncio.timeout(10):
        while not all(answer.status for answer in answers):
            await asyncio.sleep(0.001)


def test_a_short_text_goes_before_long_ones_that_came_earlier() -> None:
    async def scenario() -> None:
        gate = Gate()
        finder = Finder({"gate": gate})
        finder._pace = 1e-4
        long = [ask(finder, "x" * 5000, "y" * 5001) for _ in range(2)]
        short = ask(finder, "z")
        gate.open.release(5)
        await until(short, *long)
        assert gate.looked == [5000, 1, 5001, 5000, 5001]
        assert decode_found(long[0].body).found == [[[Finding(0, 1, "X")]]] * 2
        finder.close()

    asyncio.run(scenario())


def test_who_has_gone_is_not_worked_for() -> None:
    async def scenario() -> None:
        gate = Gate()
        finder = Finder({"gate": gate})
        first, second = ask(finder, "a", "bb"), ask(finder, "ccc")
        first.listener.gone()
        gate.open.release(2)
        await until(second)
        assert gate.looked == [1, 3]
        assert first.status == 0
        finder.close()

    asyncio.run(scenario())


def test_more_than_can_be_done_in_time_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(module, "MOST_WAIT", 1.0)
        gate = Gate()
        finder = Finder({"gate": gate})
        finder._pace = 1e-3
        first = ask(finder, "x" * 2000)
        with pytest.raises(QueueFull):
            ask(finder, "x" * 2001)
        short = ask(finder, "x")
        gate.open.release(2)
        await until(first, short)
        finder.close()

    asyncio.run(scenario())


def test_a_guardrail_that_raises_answers_500_and_the_next_one_goes_on() -> None:
    class Broken:
        reach: int | None = 1

        def find(self, text: str) -> Sequence[Finding]:
            raise ZeroDivisionError

    async def scenario() -> None:
        gate = Gate()
        gate.open.release(1)
        finder = Finder({"gate": gate, "broken": Broken()})
        answers = ask(finder, "a", guardrails=["broken"]), ask(finder, "b")
        await until(*answers)
        assert [answer.status for answer in answers] == [500, 200]
        finder.close()

    asyncio.run(scenario())


def test_an_unknown_guardrail_is_told() -> None:
    async def scenario() -> None:
        finder = Finder({})
        with pytest.raises(EndpointNotFound):
            ask(finder, "a")
        finder.close()

    asyncio.run(scenario())
