import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence

import pytest

from antiphon.core.errors import AntiphonError, CapacityError, EngineFailed, InvalidRequest, QueueFull
from antiphon.core.ports import SamplingParams
from antiphon.core.types import Usage
from antiphon.execution.engines._stepper import Generation, Limits, Produced, Stepper


class FakeBatch:
    """Gives every sequence its next number at each step, and only while ``go`` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.added: list[tuple[int, int]] = []
        self.cancelled: list[int] = []
        self.running: dict[int, tuple[int, SamplingParams]] = {}
        self.steps = 0
        self.threads: set[int] = set()
        self.refusal: AntiphonError | None = None
        self.breaks: Exception | None = None
        self.runs_out = False
        self.closed = False

    def add(self, ticket: int, prompt: Sequence[int], params: SamplingParams, seed: int) -> None:
        self.threads.add(threading.get_ident())
        if self.refusal is not None and params.json_object:
            raise self.refusal
        self.added.append((len(prompt), seed))
        self.running[ticket] = (0, params)

    def cancel(self, ticket: int) -> None:
        self.cancelled.append(ticket)
        self.running.pop(ticket, None)

    def busy(self) -> bool:
        return bool(self.running)

    def step(self) -> list[Produced]:
        self.threads.add(threading.get_ident())
        if self.breaks is not None:
            raise self.breaks
        if not self.go.wait(0.01):
            return []
        self.steps += 1
        produced = []
        for ticket, (count, params) in list(self.running.items()):
            last = count + 1 == params.max_tokens
            end = "memory" if self.runs_out else "length" if last else ""
            produced.append(Produced(ticket, [count], [-0.5] if params.logprobs else [], end))
            self.running[ticket] = (count + 1, params)
            if end:
                del self.running[ticket]
        return produced

    def cache_usage(self) -> float:
        return 0.25

    def close(self) -> None:
        self.closed = True


class Heard:
    """A listener that remembers, and fails where it is told to."""

    def __init__(self, breaks: bool = False) -> None:
        self.breaks = breaks
        self.ids: dict[int, list[int]] = {}
        self.logprobs: list[float] = []
        self.ends: dict[int, str] = {}
        self.usage: Usage | None = None
        self.error: AntiphonError | None = None
        self.over = asyncio.Event()

    def tokens(self, index: int, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        if self.breaks:
            raise RuntimeError("this listener is broken")
        self.ids.setdefault(index, []).extend(ids)
        self.logprobs.extend(logprobs)

    def finished(self, index: int, reason: str) -> None:
        self.ends[index] = reason

    def done(self, usage: Usage) -> None:
        assert not self.over.is_set()
        self.usage = usage
        self.over.set()

    def failed(self, error: AntiphonError) -> None:
        assert not self.over.is_set()
        self.error = error
        self.over.set()


class Bench:
    def __init__(self, limits: Limits) -> None:
        self.batch = FakeBatch()
        self.stepper = Stepper("tiny", self.batch, limits)

    def start(self, params: SamplingParams, prompt: Sequence[int] = (1, 2, 3), breaks: bool = False) -> tuple[Heard, Generation]:
        heard = Heard(breaks)
        generation = Generation(self.stepper, prompt, params, heard)
        self.stepper.submit(generation)
        return heard, generation

    async def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < deadline, "it did not come to pass"
            await asyncio.sleep(0.002)


def bench(
    test: Callable[[Bench], Awaitable[None]],
    max_running: int = 8,
    max_waiting: int = 8,
    kv_blocks: int = 1000,
    step_tokens: int = 1000,
) -> None:
    async def go() -> None:
        it = Bench(Limits(max_running, max_waiting, kv_blocks, block_tokens=4, step_tokens=step_tokens))
        try:
            await asyncio.wait_for(test(it), 20)
        finally:
            it.batch.go.set()
            it.stepper.close()

    asyncio.run(go())


def test_a_prompt_is_answered_with_its_usage() -> None:
    async def test(it: Bench) -> None:
        heard, _ = it.start(SamplingParams(max_tokens=4, logprobs=True))
        await heard.over.wait()
        assert heard.ids == {0: [0, 1, 2, 3]}
        assert heard.logprobs == [-0.5] * 4
        assert heard.ends == {0: "length"}
        assert heard.usage == Usage(prompt_tokens=3, completion_tokens=4, total_tokens=7)
        stats = it.stepper.stats()
        assert (stats.running, stats.waiting, stats.generated_tokens, stats.prompt_tokens, stats.kv_cache_usage) == (
            0,
            0,
            4,
            3,
            0.25,
        )

    bench(test)


def test_several_sequences_of_one_prompt_keep_their_indices_and_seeds() -> None:
    async def test(it: Bench) -> None:
        heard, _ = it.start(SamplingParams(max_tokens=3, n=3, seed=7))
        await heard.over.wait()
        assert heard.ids == {0: [0, 1, 2], 1: [0, 1, 2], 2: [0, 1, 2]}
        assert heard.ends == dict.fromkeys(range(3), "length")
        assert heard.usage == Usage(prompt_tokens=3, completion_tokens=9, total_tokens=12)
        seeds = [seed for _, seed in it.batch.added]
        assert seeds[0] == 7
        assert len(set(seeds)) == 3

    bench(test)


def test_without_a_seed_every_call_gets_its_own() -> None:
    async def test(it: Bench) -> None:
        calls = [it.start(SamplingParams(max_tokens=1))[0] for _ in range(6)]
        await asyncio.gather(*(heard.over.wait() for heard in calls))
        assert len({seed for _, seed in it.batch.added}) == 6

    bench(test)


def test_the_batch_is_touched_by_one_thread_and_rests_when_idle() -> None:
    async def test(it: Bench) -> None:
        for _ in range(3):
            heard, _ = it.start(SamplingParams(max_tokens=2))
            await heard.over.wait()
        assert it.batch.threads == {it.stepper._thread.ident}
        await it.until(lambda: it.stepper.stats().running == 0)
        steps = it.batch.steps
        for _ in range(50):
            await asyncio.sleep(0)
        assert it.batch.steps == steps == 6

    bench(test)


def test_places_are_bounded_and_the_queue_is_answered_in_order() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        calls = [it.start(SamplingParams(max_tokens=2), prompt=[1] * (i + 1))[0] for i in range(5)]
        await it.until(lambda: it.stepper.stats().running == 2)
        assert it.stepper.stats().waiting == 3
        it.batch.go.set()
        await asyncio.gather(*(heard.over.wait() for heard in calls))
        assert [length for length, _ in it.batch.added] == [1, 2, 3, 4, 5]

    bench(test, max_running=2)


def test_more_than_may_wait_is_refused_with_a_time_to_retry() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        first, _ = it.start(SamplingParams(max_tokens=1))
        await it.until(lambda: it.stepper.stats().running == 1)
        calls = [first, *(it.start(SamplingParams(max_tokens=1))[0] for _ in range(2))]
        with pytest.raises(QueueFull, match=r'"tiny".*1 sequences run and 2 prompts wait') as refusal:
            it.start(SamplingParams(max_tokens=1))
        assert refusal.value.retry_after is not None
        assert refusal.value.retry_after >= 1
        it.batch.go.set()
        await asyncio.gather(*(heard.over.wait() for heard in calls))
        later, _ = it.start(SamplingParams(max_tokens=1))
        await later.over.wait()

    bench(test, max_running=1, max_waiting=2)


def test_a_burst_into_an_idle_engine_fills_its_places_before_it_counts_as_waiting() -> None:
    async def test(it: Bench) -> None:
        calls = [it.start(SamplingParams(max_tokens=1))[0] for _ in range(4)]
        await asyncio.gather(*(heard.over.wait() for heard in calls))

    bench(test, max_running=4, max_waiting=0)


def test_cancelling_a_running_call_frees_its_place_and_is_silent() -> None:
    async def test(it: Bench) -> None:
        heard, generation = it.start(SamplingParams(max_tokens=10**6, n=2))
        other, _ = it.start(SamplingParams(max_tokens=5))
        await it.until(lambda: len(heard.ids) == 2)
        generation.cancel()
        generation.cancel()
        so_far = sum(map(len, heard.ids.values()))
        await it.until(lambda: it.stepper.stats().running == 0)
        await other.over.wait()
        assert sum(map(len, heard.ids.values())) == so_far
        assert not heard.over.is_set()
        assert not it.batch.running

    bench(test)


def test_cancelling_a_waiting_call_takes_it_out_of_the_queue() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        first, _ = it.start(SamplingParams(max_tokens=2))
        waiting, generation = it.start(SamplingParams(max_tokens=2), prompt=[9] * 9)
        await it.until(lambda: it.stepper.stats().waiting == 1 and it.stepper.stats().running == 1)
        generation.cancel()
        await it.until(lambda: it.stepper.stats().waiting == 0)
        it.batch.go.set()
        await first.over.wait()
        assert [length for length, _ in it.batch.added] == [3]
        assert not waiting.over.is_set()

    bench(test, max_running=1)


def test_cancelling_after_the_end_does_nothing() -> None:
    async def test(it: Bench) -> None:
        heard, generation = it.start(SamplingParams(max_tokens=1))
        await heard.over.wait()
        generation.cancel()
        again, _ = it.start(SamplingParams(max_tokens=1))
        await again.over.wait()
        assert it.batch.cancelled == []

    bench(test)


def test_prompts_wait_for_room_in_the_cache() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        calls = [it.start(SamplingParams(max_tokens=2), prompt=[1] * 15)[0] for _ in range(3)]
        await it.until(lambda: it.stepper.stats().running == 2)
        assert it.stepper.stats().waiting == 1
        it.batch.go.set()
        await asyncio.gather(*(heard.over.wait() for heard in calls))

    bench(test, kv_blocks=8)


def test_a_refused_call_hears_why_and_the_others_go_on() -> None:
    async def test(it: Bench) -> None:
        it.batch.refusal = InvalidRequest("no such schema", param="response_format")
        other, _ = it.start(SamplingParams(max_tokens=5))
        refused, _ = it.start(SamplingParams(max_tokens=5, json_object=True, n=2))
        await asyncio.gather(other.over.wait(), refused.over.wait())
        assert refused.error is it.batch.refusal
        assert other.usage is not None

    bench(test)


def test_a_cache_that_ran_out_fails_the_call_with_the_remedy() -> None:
    async def test(it: Bench) -> None:
        it.batch.runs_out = True
        heard, _ = it.start(SamplingParams(max_tokens=5))
        await heard.over.wait()
        assert isinstance(heard.error, CapacityError)
        assert "kv_cache_mb" in str(heard.error)

    bench(test)


def test_a_step_that_fails_ends_the_engine_and_tells_everybody() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        calls = [it.start(SamplingParams(max_tokens=5, n=2))[0] for _ in range(3)]
        await it.until(lambda: it.stepper.stats().running == 2)
        it.batch.breaks = RuntimeError("out of luck")
        await asyncio.gather(*(heard.over.wait() for heard in calls))
        for heard in calls:
            assert isinstance(heard.error, EngineFailed)
            assert "out of luck" in str(heard.error)
        assert isinstance(it.stepper.failure, EngineFailed)
        assert (it.stepper.stats().running, it.stepper.stats().waiting) == (0, 0)
        with pytest.raises(EngineFailed, match="tiny"):
            it.start(SamplingParams(max_tokens=1))
        await it.until(lambda: it.batch.closed)

    bench(test, max_running=2)


def test_closing_fails_what_runs_and_waits() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        calls = [it.start(SamplingParams(max_tokens=5))[0] for _ in range(3)]
        await it.until(lambda: it.stepper.stats().running == 1)
        it.stepper.close()
        await asyncio.gather(*(heard.over.wait() for heard in calls))
        assert all(isinstance(heard.error, EngineFailed) for heard in calls)
        assert it.batch.closed
        assert not it.stepper._thread.is_alive()

    bench(test, max_running=1)


def test_a_broken_listener_is_cancelled_and_silences_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def test(it: Bench) -> None:
        broken, _ = it.start(SamplingParams(max_tokens=10**6), breaks=True)
        other, _ = it.start(SamplingParams(max_tokens=20))
        await other.over.wait()
        await it.until(lambda: it.stepper.stats().running == 0)
        assert not broken.over.is_set()
        assert "this listener is broken" in caplog.text

    bench(test)


def test_one_call_to_the_loop_per_step_tells_all_sequences() -> None:
    async def test(it: Bench) -> None:
        loop = asyncio.get_running_loop()
        calls = 0
        real = loop.call_soon_threadsafe

        def counting(*args):
            nonlocal calls
            calls += 1
            return real(*args)

        loop.call_soon_threadsafe = counting  # type: ignore[method-assign, assignment]
        it.batch.go.clear()
        heard = [it.start(SamplingParams(max_tokens=10))[0] for _ in range(6)]
        await it.until(lambda: it.stepper.stats().running == 6)
        it.batch.go.set()
        await asyncio.gather(*(one.over.wait() for one in heard))
        assert calls == it.batch.steps == 10

    bench(test)


def test_a_closed_loop_does_not_stop_the_engine() -> None:
    it = Bench(Limits(8, 8, 1000, 4, 1000))

    async def leave() -> None:
        it.start(SamplingParams(max_tokens=10**6))

    async def stay() -> None:
        heard, _ = it.start(SamplingParams(max_tokens=3))
        await heard.over.wait()
        await it.until(lambda: it.stepper.stats().running == 0)

    asyncio.run(leave())
    asyncio.run(stay())
    it.stepper.close()


def test_a_long_prompt_goes_in_by_whole_blocks_beside_those_that_run() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        running, _ = it.start(SamplingParams(max_tokens=20), prompt=[1] * 3)
        await it.until(lambda: it.stepper.stats().running == 1)
        long, _ = it.start(SamplingParams(max_tokens=2), prompt=range(100, 130))
        short, _ = it.start(SamplingParams(max_tokens=2), prompt=[2] * 5)
        it.batch.go.set()
        await asyncio.gather(*(heard.over.wait() for heard in (running, long, short)))
        assert [length for length, _ in it.batch.added] == [3, 12, 24, 30, 5]
        assert long.ids == {0: [0, 1]}
        assert long.usage == Usage(prompt_tokens=30, completion_tokens=2, total_tokens=32)
        assert it.stepper.stats().prompt_tokens == 38

    bench(test, step_tokens=14)


def test_what_is_known_of_a_prompt_takes_no_room() -> None:
    async def test(it: Bench) -> None:
        for prompt in (range(30), range(33), range(40)):
            heard, _ = it.start(SamplingParams(max_tokens=6, n=2), prompt=prompt)
            await heard.over.wait()
        assert [length for length, _ in it.batch.added] == [12, 24, 30, 30, 33, 33, 40, 40]

    bench(test, step_tokens=14)


def test_the_end_of_a_seeded_prompt_is_computed_alone() -> None:
    async def test(it: Bench) -> None:
        for prompt, seed in ((range(10), 1), (range(10), 1), (range(50, 58), 1), (range(60, 70), None)):
            heard, _ = it.start(SamplingParams(max_tokens=1, seed=seed), prompt=prompt)
            await heard.over.wait()
        assert [length for length, _ in it.batch.added] == [8, 10, 10, 4, 8, 10]

    bench(test)


def test_what_is_half_computed_is_cancelled_once_it_is_whole() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        heard, generation = it.start(SamplingParams(max_tokens=10**6), prompt=[1] * 5)
        await it.until(lambda: it.stepper.stats().running == 1)
        generation.cancel()
        later, _ = it.start(SamplingParams(max_tokens=2))
        await it.until(lambda: it.stepper.stats().running == 2)
        assert it.batch.cancelled == []
        it.batch.go.set()
        await later.over.wait()
        assert len(it.batch.cancelled) == 1
        await it.until(lambda: it.stepper.stats().running == 0)
        assert heard.ids == {}

    bench(test)


def test_a_cancelled_prompt_is_given_no_further_piece() -> None:
    async def test(it: Bench) -> None:
        it.batch.go.clear()
        _, generation = it.start(SamplingParams(max_tokens=2), prompt=[1] * 500)
        await it.until(lambda: it.stepper.stats().running == 1)
        generation.cancel()
        later, _ = it.start(SamplingParams(max_tokens=1))
        it.batch.go.set()
        await later.over.wait()
        assert [length for length, _ in it.batch.added] == [20, 3]

    bench(test, step_tokens=20)
