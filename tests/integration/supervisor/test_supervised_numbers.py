"""SIGHUP with another number of workers: those that stay keep their sockets and what they have begun."""

import http.client
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.integration.supervisor.served import Server, alive, eventually

TAKES = dict.fromkeys(("control", *(f"worker-{number}" for number in range(4))), "takes-updates")


def workers(server: Server) -> dict[str, int]:
    return {process.name: process.pid for process in server.state.processes if process.role == "worker"}


def go_to(server: Server, number: int, **more) -> None:
    server.write(server={"workers": number}, **{"behaviour": TAKES, **more})
    server.reload("reloaded")


class Callers:
    """Ask on connections of their own, one after the other."""

    def __init__(self, server: Server, number: int = 3) -> None:
        self.failures: list[Exception] = []
        self.answers = 0
        self._server = server
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._call_on) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _call_on(self) -> None:
        while not self._over.is_set():
            try:
                self._server.get("/0.005")
                self.answers += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(error)


@pytest.fixture
def callers(server: Server) -> Iterator[Callers]:
    server.write(behaviour=TAKES, server={"grace": 0.2})
    server.serving()
    callers = Callers(server)
    yield callers
    callers.leave()


def test_workers_that_stay_are_the_same_and_no_connection_is_lost(server: Server, callers: Callers) -> None:
    first = workers(server)
    slow = server.in_background("/4")
    go_to(server, 4)
    four = workers(server)
    assert four["worker-0"] == first["worker-0"]
    assert len(four) == 4
    eventually(lambda: {server.get()["name"] for _ in range(20)} == set(four))
    go_to(server, 2)
    eventually(lambda: workers(server).keys() == {"worker-0", "worker-1"})
    assert not any(alive(four[name]) for name in ("worker-2", "worker-3"))
    assert workers(server).items() <= four.items()
    go_to(server, 1)
    eventually(lambda: workers(server) == first)
    eventually(lambda: "coordinator" not in {process.name for process in server.state.processes})
    assert {server.get()["name"] for _ in range(20)} == {"worker-0"}
    callers.leave()
    assert callers.failures == []
    assert callers.answers > 20
    assert slow.result()["pid"] == first["worker-0"]


def test_a_worker_that_is_killed_comes_back_with_all_its_sockets(server: Server) -> None:
    server.write(server={"workers": 4}, behaviour=TAKES)
    server.serving()
    go_to(server, 1)
    eventually(lambda: len(workers(server)) == 1)
    dead = workers(server)["worker-0"]
    os.kill(dead, signal.SIGKILL)
    eventually(lambda: server.named("worker-0").restarts == 1 and server.named("worker-0").state == "ready")
    assert {server.get()["pid"] for _ in range(40)} == {workers(server)["worker-0"]}


def test_a_reload_does_not_wait_for_workers_that_leave_and_one_of_the_same_name_may_come_meanwhile(server: Server) -> None:
    server.write(server={"workers": 2, "grace": 20}, behaviour=TAKES)
    server.serving()
    two = workers(server)
    slow = server.in_background_at("worker-1", 6)
    go_to(server, 1)
    assert server.named("worker-1").state == "draining"
    assert server.named("coordinator").state == "ready"
    go_to(server, 2)
    again = workers(server)
    assert again["worker-0"] == two["worker-0"]
    assert again["worker-1"] != two["worker-1"]
    assert slow.result()["pid"] == two["worker-1"]
    eventually(lambda: not alive(two["worker-1"]))
    assert server.named("coordinator").state == "ready"


def test_a_worker_that_does_not_take_the_sockets_is_replaced(server: Server) -> None:
    stubborn = {**TAKES, "worker-0": "refuses-sockets-updates"}
    server.write(server={"workers": 2}, behaviour=stubborn)
    server.serving()
    before = workers(server)
    server.write(server={"workers": 1}, behaviour=stubborn)
    server.reload("reloaded")
    eventually(lambda: len(workers(server)) == 1)
    assert workers(server)["worker-0"] != before["worker-0"]
    assert {server.get()["name"] for _ in range(30)} == {"worker-0"}
