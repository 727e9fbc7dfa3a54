"""A worker that cannot be started again costs nobody an answer."""

import os
import signal
from contextlib import closing
from pathlib import Path

from tests.integration.supervisor.served import Server, eventually
from tests.integration.supervisor.test_supervised_farewell import ASK, answer_on, connected


def broken(server: Server, name: str) -> Path:
    """Kill a worker, which cannot be started as long as this file is there."""
    path = Path(server.run_dir, f"broken-{name}")
    path.touch()
    os.kill(server.named(name).pid, signal.SIGKILL)
    eventually(lambda: server.named(name).state == "waiting" and "is broken" in str(server.named(name).error))
    return path


def who_answers(server: Server, calls: int = 40) -> set[str]:
    return {server.get().get("name", "nobody") for _ in range(calls)}


def serve(server: Server, workers: int, setup_pause: float) -> None:
    server.write(
        behaviour={f"worker-{number}": "takes-updates" for number in range(workers)},
        server={"workers": workers},
        timings={"ping_every": 0, "backoff": {"setup": setup_pause}},
    )
    server.serving()


def test_others_take_over_the_sockets_of_a_worker_that_cannot_be_started(server):
    serve(server, 3, setup_pause=60.0)
    broken(server, "worker-0")
    assert who_answers(server) == {"worker-1", "worker-2"}
    broken(server, "worker-1")
    assert who_answers(server) == {"worker-2"}


def test_it_has_them_back_when_it_returns_by_itself(server):
    serve(server, 2, setup_pause=1.0)
    broken(server, "worker-0").unlink()
    eventually(lambda: server.named("worker-0").state == "ready")
    eventually(lambda: who_answers(server) == {"worker-0", "worker-1"})
    broken(server, "worker-1")
    assert who_answers(server) == {"worker-0"}


def test_workers_that_return_in_any_order_have_what_was_theirs(server):
    serve(server, 3, setup_pause=1.0)
    first = broken(server, "worker-0")
    second = broken(server, "worker-1")
    first.unlink()
    eventually(lambda: who_answers(server, 60) == {"worker-0", "worker-2"})
    second.unlink()
    eventually(lambda: who_answers(server, 60) == {"worker-0", "worker-1", "worker-2"})


def test_a_reload_brings_it_back_too(server):
    serve(server, 2, setup_pause=60.0)
    broken(server, "worker-0").unlink()
    server.reload("reloaded")
    assert who_answers(server) == {"worker-0", "worker-1"}


def test_where_no_worker_is_left_callers_are_told_so_until_one_returns(server):
    serve(server, 1, setup_pause=1.0)
    path = broken(server, "worker-0")

    def refusal() -> dict:
        with closing(connected(server)) as sock:
            sock.sendall(ASK)
            head, body = answer_on(sock)
            assert head.startswith(b"HTTP/1.1 503 "), head
            assert b"retry-after: 5" in head
            return body["error"]

    assert refusal()["code"] == "no_worker"
    assert "antiphon doctor" in refusal()["message"]
    path.unlink()
    eventually(lambda: who_answers(server) == {"worker-0"})


def test_a_server_that_ends_while_no_worker_is_left_ends_in_order(server):
    serve(server, 2, setup_pause=60.0)
    broken(server, "worker-0")
    broken(server, "worker-1")
    server.signal(signal.SIGTERM)
    assert server.ended() == 0
