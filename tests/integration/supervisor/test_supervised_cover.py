"""A worker that cannot be started again costs nobody an answer."""

import http.client
import os
import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import Self

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


def test_others_take_over_while_it_starts_slowly(server):
    serve(server, 3, setup_pause=60.0)
    Path(server.run_dir, "slow-worker-0").touch()
    os.kill(server.named("worker-0").pid, signal.SIGKILL)
    eventually(lambda: server.named("worker-0").state == "starting")
    assert eventually(lambda: (names := who_answers(server)) == {"worker-1", "worker-2"} and names)
    Path(server.run_dir, "slow-worker-0").unlink()
    eventually(lambda: server.named("worker-0").state == "ready")
    eventually(lambda: "worker-0" in who_answers(server))


def test_no_call_is_lost_when_a_worker_returns(server):
    serve(server, 1, setup_pause=60.0)
    for _ in range(3):
        path = broken(server, "worker-0")
        with Callers(server) as callers:
            callers.until("nobody")
            path.unlink()
            server.reload("reloaded")
            callers.until("worker-0")
        assert set(callers.answers) == {"nobody", "worker-0"}


class Callers:
    """Four that call all the time, and who answered them."""

    def __init__(self, server: Server) -> None:
        self.answers: list[str] = []
        self._server = server
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._call_on) for _ in range(4)]

    def until(self, name: str) -> None:
        """Wait until this one answers."""
        seen = len(self.answers)
        eventually(lambda: name in self.answers[seen:])

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in self._threads)

    def _call_on(self) -> None:
        while not self._over.is_set():
            try:
                self.answers.append(self._server.get().get("name", "nobody"))
            except (OSError, http.client.HTTPException) as error:
                self.answers.append(repr(error))
