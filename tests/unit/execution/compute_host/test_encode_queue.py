import asyncio
import json
import time

import pytest

from antiphon.core.errors import ContextOverflow, EngineFailed, QueueFull, UpstreamTimeout
from antiphon.execution.compute_host.limits import ComputeLimits
from antiphon.execution.compute_host.queue import EncodeQueue, Job
from antiphon.execution.compute_host.requests import EmbeddingRequest
from antiphon.testing import FakeEncoder, Gate


class Client:
    """Sends jobs and keeps the order in which they end."""

    def __init__(self, encoder, **limits):
        self.queue = EncodeQueue(encoder, ComputeLimits(**limits))
        self.ended: list[str] = []
        self.answers: dict[str, dict] = {}
        self.errors: dict[str, Exception] = {}

    def send(self, name, *texts):
        request = EmbeddingRequest(name, texts, False, False, sum(map(len, texts)))
        job = Job(request, lambda body: self._done(name, body), lambda error: self._failed(name, error))
        self.queue.submit(job)
        return job

    def _done(self, name, body):
        self.ended.append(name)
        self.answers[name] = json.loads(body)

    def _failed(self, name, error):
        self.ended.append(name)
        self.errors[name] = error

    async def until(self, condition):
        deadline = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true"
            await asyncio.sleep(0.001)


def run(scenario, encoder, **limits):
    async def main():
        client = Client(encoder, **limits)
        try:
            await scenario(client)
        finally:
            client.queue.close()

    asyncio.run(main())


def test_vectors_come_in_the_order_of_the_texts_over_many_turns():
    encoder = FakeEncoder()
    texts = [f"word{index} and more" for index in range(50)]

    async def scenario(client):
        client.send("a", *texts)
        await client.until(lambda: client.ended)
        answer = client.answers["a"]
        assert [item["embedding"] for item in answer["data"]] == encoder.encode(texts)
        assert answer["usage"]["prompt_tokens"] == 150
        assert (client.queue.encoded_texts, client.queue.encoded_tokens) == (50, 150)

    run(scenario, encoder, turn_tokens=10)
    assert max(len(batch) for batch in encoder.batches[:-1]) == 4


def test_a_short_request_does_not_wait_behind_a_long_one():
    gate = Gate()

    async def scenario(client):
        client.send("long", *["one two three"] * 30)
        client.send("short", "x")
        gate.open()
        await client.until(lambda: len(client.ended) == 2)
        assert client.ended == ["short", "long"]

    run(scenario, FakeEncoder(gate=gate), turn_tokens=10)


def test_the_queue_is_bounded_in_requests_texts_and_characters():
    gate = Gate()

    async def scenario(client):
        for name, texts in (("a", ["x"]), ("b", ["x"])):
            client.send(name, *texts)
        for texts in (["x"] * 7, ["x" * 99]):
            with pytest.raises(QueueFull) as caught:
                client.send("big", *texts)
            assert caught.value.retry_after == 1
        client.send("c", "x")
        with pytest.raises(QueueFull, match="3 requests"):
            client.send("d", "x")
        gate.open()
        await client.until(lambda: len(client.ended) == 3)
        client.send("e", "x")
        await client.until(lambda: "e" in client.answers)

    run(scenario, FakeEncoder(gate=gate), max_waiting=3, max_waiting_texts=8, max_waiting_characters=100)


def test_cancelled_work_is_not_done():
    gate = Gate()
    encoder = FakeEncoder(gate=gate)

    async def scenario(client):
        running = client.send("running", "a b c", "never")
        waiting = client.send("waiting", "never either")
        client.send("kept", "kept")
        await client.until(lambda: encoder.batches)
        client.queue.cancel(running)
        client.queue.cancel(waiting)
        client.queue.cancel(waiting)
        gate.open()
        await client.until(lambda: client.ended)
        assert client.ended == ["kept"]
        assert (client.queue.running, client.queue.waiting) == (0, 0)

    run(scenario, encoder, turn_tokens=3)
    assert encoder.batches == [["a b c"], ["kept"]]


def test_cancelling_makes_room():
    gate = Gate()

    async def scenario(client):
        job = client.send("a", "x")
        client.queue.cancel(job)
        client.send("b", "x")
        gate.open()
        await client.until(lambda: client.ended == ["b"])

    run(scenario, FakeEncoder(gate=gate), max_waiting=1)


def test_a_deadline_ends_waiting_and_running_jobs():
    gate = Gate()

    async def scenario(client):
        client.send("running", "x")
        client.send("waiting", "x")
        await client.until(lambda: len(client.ended) == 2)
        assert all(isinstance(error, UpstreamTimeout) for error in client.errors.values())
        gate.open()
        client.send("next", "x")
        await client.until(lambda: "next" in client.answers)

    run(scenario, FakeEncoder(gate=gate), deadline=0.3)


def test_a_text_too_long_is_refused_by_its_place():
    async def scenario(client):
        client.send("a", "fine", "a b c d")
        await client.until(lambda: client.ended)
        error = client.errors["a"]
        assert isinstance(error, ContextOverflow)
        assert error.param == "input[1]"
        assert "4 tokens" in str(error)

    run(scenario, FakeEncoder(), max_text_tokens=3)


def test_a_failing_encoder_fails_the_request_and_no_other(caplog):
    encoder = FakeEncoder(error=ZeroDivisionError())

    async def scenario(client):
        client.send("a", "x")
        await client.until(lambda: client.ended)
        assert isinstance(client.errors["a"], EngineFailed)
        encoder._error = None
        client.send("b", "x")
        await client.until(lambda: "b" in client.answers)

    run(scenario, encoder)
    assert "ZeroDivisionError" in caplog.text


def test_many_short_requests_share_one_pass():
    gate = Gate()
    encoder = FakeEncoder(gate=gate)

    async def scenario(client):
        client.send("first", "x")
        for index in range(20):
            client.send(f"short-{index}", f"text {index}")
        gate.open()
        await client.until(lambda: len(client.ended) == 21)
        for index in range(20):
            assert client.answers[f"short-{index}"]["data"][0]["embedding"] == encoder.encode([f"text {index}"])[0]

    run(scenario, encoder)
    assert [len(batch) for batch in encoder.batches[:2]] == [1, 20]


class PickyEncoder(FakeEncoder):
    """Cannot bear certain texts."""

    def encode(self, texts):
        vectors = super().encode(texts)
        if "poison" in texts:
            raise ValueError("poison")
        return vectors[1:] if "swallowed" in texts else vectors

    def count_tokens(self, text):
        return 1 // (text != "uncountable")


@pytest.mark.parametrize("bad", ["poison", "swallowed", "uncountable"])
def test_a_bad_text_fails_its_own_request_alone(bad, caplog):
    gate = Gate()

    async def scenario(client):
        for name, texts in (("first", ["x"]), ("good", ["a", "b"]), ("bad", ["a", bad]), ("fine", ["c"])):
            client.send(name, *texts)
        gate.open()
        await client.until(lambda: len(client.ended) == 4)
        assert list(client.errors) == ["bad"]
        assert isinstance(client.errors["bad"], EngineFailed)
        assert len(client.answers["good"]["data"]) == 2

    run(scenario, PickyEncoder(gate=gate))
    assert "the encoder failed" in caplog.text


def test_closing_drops_what_is_left():
    async def scenario(client):
        client.send("a", "x", "y")
        client.queue.close()
        await asyncio.sleep(0)
        assert client.ended == []
        assert client.queue.waiting == 0

    run(scenario, FakeEncoder())
