import asyncio

import pytest

from antiphon.core.errors import UpstreamTimeout
from antiphon.core.types import Frame
from antiphon.testing import FakeModel, model_contract


class Deferred:
    """A model that answers from the loop, and in one way not as it should."""

    name = "deferred"

    def __init__(self, fault=""):
        self.fault = fault

    def start(self, call, sink):
        if self.fault == "raises":
            raise RuntimeError("no")
        handle = DeferredHandle(self.fault)
        asyncio.get_running_loop().create_task(self.answer(sink, handle))
        return handle

    async def answer(self, sink, handle):
        for step in self.steps(sink):
            await asyncio.sleep(0.001)
            if handle.paused:
                await handle.resumed.wait()
            if handle.cancelled and self.fault != "talks after cancel":
                return
            step()
        handle.over = True

    def steps(self, sink):
        if self.fault == "fails":
            return [lambda: sink.fail(UpstreamTimeout())]
        steps = [lambda: sink.head(200, ()), lambda: sink.frame(Frame(b"data: 1\n\n")), lambda: sink.frame(Frame(b"data: 2\n\n"))]
        if self.fault == "no end":
            return steps
        steps.append(lambda: sink.end(None))
        if self.fault == "ends twice":
            steps.append(lambda: sink.violations.append("second end"))
        return steps


class DeferredHandle:
    def __init__(self, fault):
        self.fault = fault
        self.cancelled = self.paused = self.over = False
        self.resumed = asyncio.Event()

    def cancel(self, reason):
        self.cancelled = True

    def pause(self):
        self.paused = True
        self.resumed.clear()

    def resume(self):
        if self.fault != "never resumes":
            self.paused = False
            self.resumed.set()


def test_good_models_pass():
    asyncio.run(model_contract.check_model(lambda: FakeModel().chat("a", "b", times=None)))
    asyncio.run(model_contract.check_model(Deferred))


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("raises", "start raised"),
        ("no end", "neither end nor fail"),
        ("ends twice", "second end"),
        ("fails", "should succeed"),
        ("talks after cancel", "after cancel"),
        ("never resumes", "neither end nor fail"),
    ],
)
def test_each_fault_is_found(fault, complaint):
    with pytest.raises(AssertionError, match=complaint):
        asyncio.run(model_contract.check_model(lambda: Deferred(fault), within=0.5))


def test_a_model_without_a_name_is_found():
    with pytest.raises(AssertionError, match="name"):
        model_contract.check_shape(object)


def test_failing_models():
    asyncio.run(model_contract.check_failing_model(lambda: FakeModel().fail(UpstreamTimeout())))
    with pytest.raises(AssertionError, match="must call fail"):
        asyncio.run(model_contract.check_failing_model(FakeModel))
