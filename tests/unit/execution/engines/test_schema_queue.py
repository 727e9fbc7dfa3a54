import asyncio
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from antiphon.core.errors import AntiphonError, EngineFailed, InternalError, InvalidRequest, QueueFull
from antiphon.core.ports import SamplingParams
from antiphon.core.types import Usage
from antiphon.execution.engines._schema_queue import MAX_CHECKING, SchemaQueue
from antiphon.execution.engines._stepper import Generation, Stepper


class Listener:
    def __init__(self) -> None:
        self.error: AntiphonError | None = None
        self.over = asyncio.Event()

    def tokens(self, index: int, ids: Sequence[int], logprobs: Sequence[float]) -> None: ...

    def finished(self, index: int, reason: str) -> None: ...

    def done(self, usage: Usage) -> None: ...

    def failed(self, error: AntiphonError) -> None:
        self.error = error
        self.over.set()


class Bench:
    """A queue whose checker waits for ``go``, and a stepper that notes what it is given."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.refusal: Exception | None = None
        self.checked: list[str] = []
        self.submitted: list[Generation] = []
        self.came = asyncio.Event()
        self.stepper = SimpleNamespace(failure=None, submit=self._submit, cancel=lambda generation: None)
        self.queue = SchemaQueue("m", self, self.check_form)

    def knows(self, schema: str) -> bool:
        return schema in self.checked

    def check(self, schema: str) -> None:
        self.go.wait(10)
        self.checked.append(schema)
        if self.refusal is not None:
            raise self.refusal

    def check_form(self, schema: str) -> None:
        if schema == "huge":
            raise InvalidRequest("too costly")

    def _submit(self, generation: Generation) -> None:
        self.submitted.append(generation)
        self.came.set()

    def start(self, schema: str = "{}") -> tuple[Generation, Listener]:
        listener = Listener()
        generation = Generation(cast(Stepper, self.stepper), [1], SamplingParams(max_tokens=1), cast(Any, listener))
        self.queue.submit(schema, generation)
        return generation, listener


def test_a_good_schema_lets_the_call_go_on() -> None:
    async def test() -> None:
        it = Bench()
        generation, _ = it.start()
        assert not it.submitted
        it.go.set()
        await asyncio.wait_for(it.came.wait(), 10)
        assert it.submitted == [generation]
        it.queue.close()

    asyncio.run(test())


@pytest.mark.parametrize(("raised", "heard"), [(InvalidRequest("bad"), InvalidRequest), (OSError("x"), InternalError)])
def test_a_refused_schema_fails_the_call(raised: Exception, heard: type[AntiphonError]) -> None:
    async def test() -> None:
        it = Bench()
        it.refusal = raised
        it.go.set()
        _, listener = it.start()
        await asyncio.wait_for(listener.over.wait(), 10)
        assert isinstance(listener.error, heard)
        assert not it.submitted
        it.queue.close()

    asyncio.run(test())


def test_a_call_given_up_is_not_checked() -> None:
    async def test() -> None:
        it = Bench()
        it.start("first")
        given_up, _ = it.start("second")
        given_up.cancel()
        last, _ = it.start("third")
        it.go.set()
        while last not in it.submitted:
            it.came.clear()
            await asyncio.wait_for(it.came.wait(), 10)
        assert it.checked == ["first", "third"]
        assert given_up not in it.submitted
        it.queue.close()

    asyncio.run(test())


def test_too_many_schemas_are_refused_and_closing_fails_those_that_wait() -> None:
    async def test() -> None:
        it = Bench()
        listeners = [it.start()[1] for _ in range(MAX_CHECKING)]
        with pytest.raises(QueueFull, match="JSON Schemas"):
            it.start()
        it.queue.close()
        await asyncio.wait_for(listeners[-1].over.wait(), 10)
        assert isinstance(listeners[-1].error, EngineFailed)
        it.go.set()

    asyncio.run(test())


def test_a_costly_schema_is_refused_while_another_is_compiled() -> None:
    async def test() -> None:
        it = Bench()
        it.start()
        _, listener = it.start("huge")
        await asyncio.wait_for(listener.over.wait(), 10)
        assert isinstance(listener.error, InvalidRequest)
        it.go.set()
        it.queue.close()

    asyncio.run(test())
