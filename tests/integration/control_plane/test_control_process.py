import asyncio
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from antiphon.bootstrap.process import ProcessSpec, encode_spec, socket_path
from antiphon.bootstrap.state import write_state
from antiphon.config import Settings
from antiphon.core.events import CallFinished
from antiphon.core.processes import ProcessState, ServerState
from antiphon.core.types import Usage
from antiphon.gateway.admin.sources import EngineReport
from antiphon.observability.metrics import CallMetrics
from antiphon.transport.client import ClientPool, Origin
from antiphon.transport.fetching import Response, fetch
from antiphon.transport.listeners import unix_listener
from antiphon.transport.server import HttpServer, Request, Responder

PATIENCE = 60.0


@dataclass
class Control:
    run_dir: str
    process: subprocess.Popen[bytes]
    status: int

    def told(self) -> bytes:
        """The next thing that the process says of itself."""
        readable, _, _ = select.select([self.status], [], [], PATIENCE)
        assert readable, "the control plane says nothing"
        return os.read(self.status, 4096)


@pytest.fixture
def run_dir() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="ap-", dir="/tmp") as folder:  # a Unix socket's path must be short
        yield folder


@pytest.fixture
def control(run_dir) -> Iterator[Control]:
    reader, writer = os.pipe()
    process = subprocess.Popen([sys.executable, "-m", "antiphon.bootstrap.control"], stdin=subprocess.PIPE, pass_fds=(writer,))
    os.close(writer)
    spec = ProcessSpec("control", "control", 1, run_dir, Settings(), writer)
    assert process.stdin is not None
    process.stdin.write(encode_spec(spec))
    process.stdin.flush()
    try:
        yield Control(run_dir, process, reader)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        os.close(reader)


def state(*processes: tuple[str, str]) -> ServerState:
    rows = tuple(
        ProcessState(name, role, 1, "ready", 1.0, pid=1, model="small" if role == "engine" else "") for name, role in processes
    )
    return ServerState(1, 1, "127.0.0.1", 8080, 1.0, serving=True, processes=rows)


def stats_of_a_worker() -> bytes:
    metrics = CallMetrics()
    metrics.call_finished(
        CallFinished("1", "completions", "small", "local/small", "x", 200, "", False, 0.0, 0.1, 0.0, Usage(1, 2, 3), 1)
    )
    return msgspec.json.encode(metrics.snapshot(in_flight=1))


async def ask(control: Control, path: str) -> Response:
    pool = ClientPool(Origin(socket_path=socket_path(control.run_dir, "control")))
    try:
        return await fetch(pool, "GET", path)
    finally:
        await pool.close()


async def answering(run_dir: str, name: str, body: bytes | None) -> HttpServer:
    """A process that answers /stats with ``body``, or that takes the request and never answers."""

    def handle(request: Request, responder: Responder) -> None:
        if body is not None:
            responder.send(200 if request.path == "/stats" else 404, (), body)

    server = HttpServer(handle)
    await server.listen(unix_listener(socket_path(run_dir, name)))
    return server


def samples(response: Response) -> dict[tuple[str, str], float]:
    families = text_string_to_metric_families(response.body.decode())
    return {(sample.name, sample.labels.get("process", "")): sample.value for family in families for sample in family.samples}


def test_it_gathers_what_living_processes_say_and_shows_those_that_are_gone_as_down(control):
    assert b'"ready"' in control.told()
    names = ("worker-0", "worker-1", "engine-small", "engine-busy", "engine-odd")
    write_state(control.run_dir, state(*((name, name.partition("-")[0]) for name in names)))
    engine = EngineReport(running=2, waiting=0, kv_cache_usage=0.5, generated_tokens=9, model="small")

    async def scene() -> tuple[Response, float]:
        servers = [
            await answering(control.run_dir, "worker-0", stats_of_a_worker()),
            await answering(control.run_dir, "engine-small", msgspec.json.encode(engine)),
            await answering(control.run_dir, "engine-busy", None),
            await answering(control.run_dir, "engine-odd", b"<html>"),
        ]
        start = time.monotonic()
        answer = await ask(control, "/metrics")
        took = time.monotonic() - start
        for server in servers:
            await server.close()
        return answer, took

    answer, took = asyncio.run(scene())
    found = samples(answer)
    up = {process: value for (name, process), value in found.items() if name == "antiphon_up"}
    assert up == {"worker-0": 1, "worker-1": 0, "engine-small": 1, "engine-busy": 1, "engine-odd": 0}
    assert found["antiphon_requests_total", ""] == 1
    assert found["antiphon_engine_generated_tokens_total", "engine-small"] == 9
    assert took < 10, "one silent process holds up the others"


def test_it_serves_the_state_and_the_documentation(control):
    control.told()
    write_state(control.run_dir, state(("worker-0", "worker")))

    async def scene() -> list[Response]:
        return [
            await ask(control, path)
            for path in ("/admin/processes", "/openapi.json", "/docs/assets/swagger-ui-bundle.js", "/nothing")
        ]

    processes, description, script, nothing = asyncio.run(scene())
    assert msgspec.json.decode(processes.body)["processes"][0]["name"] == "worker-0"
    assert msgspec.json.decode(description.body)["openapi"].startswith("3.1")
    assert len(script.body) > 1_000_000
    assert (nothing.status, msgspec.json.decode(nothing.body)["error"]["code"]) == (404, "unknown_url")


def test_it_ends_when_asked(control):
    control.told()
    control.process.send_signal(signal.SIGTERM)
    assert control.process.wait(PATIENCE) == 0


def test_it_dies_with_its_supervisor(control):
    control.told()
    control.process.stdin.close()
    assert control.process.wait(PATIENCE) != 0


def test_a_socket_left_by_a_killed_predecessor_is_no_obstacle(run_dir, request):
    asyncio.run(_leave_a_socket(socket_path(run_dir, "control")))
    assert os.path.exists(socket_path(run_dir, "control"))
    control = request.getfixturevalue("control")
    assert b'"ready"' in control.told()


async def _leave_a_socket(path: str) -> None:
    listener = unix_listener(path)
    listener.close()
