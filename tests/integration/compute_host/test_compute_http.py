import asyncio
import contextlib
import json
import time

import openai
import pytest
import uvloop

from antiphon.execution.compute_host import ComputeHost, ComputeLimits
from antiphon.testing import FakeEncoder, Gate
from antiphon.transport.client import ClientPool, Origin
from antiphon.transport.fetching import fetch
from antiphon.transport.listeners import tcp_listener, unix_listener
from antiphon.transport.server import HttpServer


@contextlib.asynccontextmanager
async def serving(path, encoder, **limits):
    """A host on a Unix socket and a pool to it."""
    host = ComputeHost("embed", ComputeLimits(**limits))
    server = HttpServer(host.handle)
    await server.listen(unix_listener(path))
    if encoder is not None:
        host.attach(encoder)
    pool = ClientPool(Origin(socket_path=path))
    try:
        yield host, pool
    finally:
        await pool.close()
        await server.close()
        host.close()


def run(tmp_path, scenario, encoder, **limits):
    async def main():
        async with serving(str(tmp_path / "c.sock"), encoder, **limits) as (host, pool):
            await scenario(host, pool)

    uvloop.run(main())


async def ask(pool, body=None, method="POST", path="/v1/embeddings", headers=()):
    payload = b"" if method == "GET" else json.dumps(body or {"model": "embed", "input": "hello there"}).encode()
    response = await fetch(pool, method, path, ((b"content-type", b"application/json"), *headers), payload)
    return response.status, dict(response.headers), json.loads(response.body)


async def until(condition):
    deadline = time.monotonic() + 5
    while not await condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        await asyncio.sleep(0.005)


def test_an_answer_and_its_request_id(tmp_path):
    async def scenario(host, pool):
        status, headers, body = await ask(pool, headers=((b"x-request-id", b"req-7"),))
        assert status == 200
        assert headers[b"x-request-id"] == b"req-7"
        assert body["usage"] == {"prompt_tokens": 2, "total_tokens": 2}
        assert len(body["data"][0]["embedding"]) == 8
        _, headers, _ = await ask(pool)
        assert headers[b"x-request-id"].startswith(b"req_")

    run(tmp_path, scenario, FakeEncoder())


@pytest.mark.parametrize(
    ("request_body", "status", "code", "param"),
    [
        ({"model": "other", "input": "x"}, 404, "model_not_found", "model"),
        ({"model": "embed", "input": ["x", ""]}, 400, "invalid_request", "input[1]"),
        ({"model": "embed", "input": [1, 2]}, 400, "unsupported_parameter", "input"),
        ({"model": "embed", "input": "x", "dimensions": 3}, 400, "unsupported_parameter", "dimensions"),
        ({"model": "embed", "input": "a b c d e"}, 400, "context_length_exceeded", "input"),
    ],
)
def test_errors_have_openai_shape(tmp_path, request_body, status, code, param):
    async def scenario(host, pool):
        seen, headers, body = await ask(pool, request_body, headers=((b"x-request-id", b"req-9"),))
        assert (seen, body["error"]["code"], body["error"]["param"]) == (status, code, param)
        assert body["request_id"] == "req-9"
        assert headers[b"x-request-id"] == b"req-9"

    run(tmp_path, scenario, FakeEncoder(), max_text_tokens=4)


def test_health_stats_and_what_is_not_here(tmp_path):
    async def scenario(host, pool):
        assert (await ask(pool, method="GET", path="/health"))[::2] == (200, {"status": "ok", "model": "embed", "detail": ""})
        await ask(pool, {"model": "embed", "input": ["a b", "c"]})
        _, _, stats = await ask(pool, method="GET", path="/stats")
        assert stats == {
            "model": "embed", "status": "ok", "dimensions": 8, "running": 0, "waiting": 0, "encoded_texts": 2, "encoded_tokens": 3,
        }  # fmt: skip
        assert (await ask(pool, method="GET"))[0] == 405
        status, _, body = await ask(pool, path="/v1/chat/completions")
        assert status == 404
        assert "/v1/embeddings" in body["error"]["message"]

    run(tmp_path, scenario, FakeEncoder())


def test_while_it_loads_and_drains_it_says_so(tmp_path):
    async def scenario(host, pool):
        assert (await ask(pool, method="GET", path="/health"))[0] == 503
        assert (await ask(pool, method="GET", path="/stats"))[2]["status"] == "loading"
        status, headers, body = await ask(pool)
        assert (status, headers[b"retry-after"]) == (503, b"2")
        assert "loading" in body["error"]["message"]
        host.attach(FakeEncoder())
        assert (await ask(pool))[0] == 200
        host.drain()
        status, headers, body = await ask(pool)
        assert (status, body["error"]["code"]) == (503, "draining")
        assert (await ask(pool, method="GET", path="/health"))[2]["status"] == "draining"

    run(tmp_path, scenario, None)


def test_a_full_queue_answers_429_and_health_goes_on(tmp_path):
    gate = Gate()

    async def scenario(host, pool):
        calls = [asyncio.create_task(ask(pool)) for _ in range(2)]
        await until(lambda: _load_is(pool, 1, 1))
        status, headers, body = await ask(pool)
        assert (status, body["error"]["type"]) == (429, "rate_limit_error")
        assert int(headers[b"retry-after"]) >= 1
        assert (await ask(pool, method="GET", path="/health"))[0] == 200
        gate.open()
        assert [status for status, _, _ in await asyncio.gather(*calls)] == [200, 200]

    run(tmp_path, scenario, FakeEncoder(gate=gate), max_waiting=2)


def test_a_client_that_leaves_takes_its_work_along(tmp_path):
    gate = Gate()
    encoder = FakeEncoder(gate=gate)

    async def scenario(host, pool):
        first = asyncio.create_task(ask(pool, {"model": "embed", "input": "first"}))
        await until(lambda: _load_is(pool, 1, 0))
        leaving = json.dumps({"model": "embed", "input": ["never"] * 5}).encode()
        exchange = pool.request("POST", "/v1/embeddings", (), leaving, _Deaf())
        await until(lambda: _load_is(pool, 1, 1))
        exchange.cancel()
        await until(lambda: _load_is(pool, 1, 0))
        gate.open()
        assert (await first)[0] == 200
        assert (await ask(pool, {"model": "embed", "input": "last"}))[0] == 200

    run(tmp_path, scenario, encoder)
    assert encoder.batches == [["first"], ["last"]]


def test_many_clients_at_once_each_get_their_own_vectors(tmp_path):
    encoder = FakeEncoder()

    async def scenario(host, pool):
        texts = [[f"client {client} text {index}" for index in range(client % 7 + 1)] for client in range(60)]
        answers = await asyncio.gather(*(ask(pool, {"model": "embed", "input": own}) for own in texts))
        for own, (status, _, body) in zip(texts, answers, strict=True):
            assert status == 200
            assert [item["embedding"] for item in body["data"]] == encoder.encode(own)

    run(tmp_path, scenario, encoder, turn_tokens=8)


def test_a_deadline_is_answered_504(tmp_path):
    gate = Gate()

    async def scenario(host, pool):
        status, _, body = await ask(pool)
        assert (status, body["error"]["code"]) == (504, "upstream_timeout")
        gate.open()

    run(tmp_path, scenario, FakeEncoder(gate=gate), deadline=0.1)


def test_the_official_client(tmp_path):
    async def main():
        host = ComputeHost("embed")
        host.attach(FakeEncoder())
        server = HttpServer(host.handle)
        listener = tcp_listener("127.0.0.1", 0)
        await server.listen(listener)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        try:
            async with openai.AsyncOpenAI(base_url=url, api_key="made-up", max_retries=0) as client:
                await _use(client)
        finally:
            await server.close()
            host.close()

    async def _use(client):
        packed = await client.embeddings.create(model="embed", input=["one", "two words"], user="u")
        floats = await client.embeddings.create(model="embed", input=["one", "two words"], encoding_format="float", dimensions=8)
        assert packed.usage.prompt_tokens == floats.usage.prompt_tokens == 3
        for one, other in zip(packed.data, floats.data, strict=True):
            assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
        with pytest.raises(openai.BadRequestError, match="leave it out, or give 8"):
            await client.embeddings.create(model="embed", input="x", dimensions=256)

    uvloop.run(main())


async def _load_is(pool, running, waiting):
    _, _, stats = await ask(pool, method="GET", path="/stats")
    return (stats["running"], stats["waiting"]) == (running, waiting)


class _Deaf:
    """A receiver that leaves before it hears anything."""

    def head(self, status, headers):
        raise AssertionError("answered after the client had left")

    def data(self, chunk): ...
    def complete(self): ...
    def broken(self, error): ...
