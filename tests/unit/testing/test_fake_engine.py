import asyncio

import pytest

from antiphon.core.errors import ContextOverflow, EngineFailed, QueueFull, UnsupportedParameter
from antiphon.core.ports import Engine, SamplingParams
from antiphon.core.types import Usage
from antiphon.testing.fake_engine import CONTROL, FakeAnswer, FakeEngine, fake_info


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self):
        self.ids: dict[int, list[int]] = {}
        self.logprobs: list[float] = []
        self.reasons: dict[int, str] = {}
        self.usage: Usage | None = None
        self.error = None
        self.over = asyncio.Event()

    def tokens(self, index, ids, logprobs):
        self.ids.setdefault(index, []).extend(ids)
        self.logprobs += logprobs

    def finished(self, index, reason):
        self.reasons[index] = reason

    def done(self, usage):
        self.usage = usage
        self.over.set()

    def failed(self, error):
        self.error = error
        self.over.set()

    def text(self, engine: Engine, index=0):
        return b"".join(engine.token_bytes(token) for token in self.ids[index]).decode()


def ask(engine: Engine, prompt="hi", **params):
    """What is heard of one prompt once it is answered."""

    async def main():
        heard = Heard()
        engine.start(engine.encode(prompt), SamplingParams(**{"max_tokens": 50, **params}), heard)
        await asyncio.wait_for(heard.over.wait(), 5)
        return heard

    return asyncio.run(main())


def test_text_is_bytes_and_control_tokens():
    engine = FakeEngine()
    ids = engine.encode("é<|im_end|>x")
    assert [engine.token_bytes(token) for token in ids] == [b"\xc3", b"\xa9", b"", b"x"]
    assert engine.info.vocabulary == 256 + len(CONTROL)


def test_answers_come_in_order_and_the_last_one_again():
    engine = FakeEngine(["one", FakeAnswer(("two",), cached_tokens=1)])
    assert [ask(engine).text(engine) for _ in range(3)] == ["one", "two", "two"]
    assert ask(engine).usage == Usage(2, 3, 5, 1)


def test_each_sequence_has_its_text():
    engine = FakeEngine([FakeAnswer(("a", "bc"))])
    heard = ask(engine, n=3)
    assert [heard.text(engine, index) for index in range(3)] == ["a", "bc", "a"]
    assert heard.reasons == {0: "stop", 1: "stop", 2: "stop"}


def test_max_tokens_and_log_probabilities():
    heard = ask(FakeEngine(["abc"]), max_tokens=2, logprobs=True)
    assert heard.reasons == {0: "length"}
    assert heard.logprobs == [-0.25, -0.25]
    assert ask(FakeEngine(["abc"])).logprobs == []


def test_tokens_of_several_bytes():
    engine = FakeEngine([FakeAnswer(([b"Hello", b" you"],))])
    heard = ask(engine)
    assert len(heard.ids[0]) == 2
    assert heard.text(engine) == "Hello you"


def test_failures():
    assert isinstance(ask(FakeEngine([FakeAnswer(fail_after=1)])).error, EngineFailed)


@pytest.mark.parametrize(
    ("engine", "params", "error"),
    [
        (FakeEngine(max_running=0, max_waiting=0), {}, QueueFull),
        (FakeEngine(info=fake_info(context_length=10)), {}, ContextOverflow),
        (FakeEngine(), {"adapter": "x"}, UnsupportedParameter),
    ],
)
def test_what_it_refuses(engine, params, error):
    with pytest.raises(error):
        ask(engine, **params)


def test_by_hand():
    async def main():
        engine = FakeEngine(["ab"], by_hand=True)
        first, second = Heard(), Heard()
        engine.start([1], SamplingParams(max_tokens=5), first)
        generation = engine.start([1], SamplingParams(max_tokens=5), second)
        engine.step()
        assert engine.stats().running == 2
        generation.cancel()
        assert engine.stats().running == 1
        engine.step()
        assert (first.over.is_set(), second.over.is_set()) == (True, False)
        assert len(second.ids[0]) == 1
        engine.close()
        with pytest.raises(EngineFailed):
            engine.start([1], SamplingParams(max_tokens=5), first)

    asyncio.run(main())
