"""SIGHUP: new settings without a failed call, or the old ones and a reason."""

import http.client
import os
import signal
import threading

import pytest

from tests.integration.supervisor.served import alive, eventually

MODEL = {"name": "small", "source": "file:/nowhere"}
OTHER = {"name": "other", "source": "file:/nowhere"}

PINGS = {"ping_every": 0.05, "ping_patience": 5.0, "ping_misses": 2}


def pids(server) -> dict[str, int]:
    return {process.name: process.pid for process in server.state.processes}


def test_workers_are_replaced_without_a_failed_call(server):
    server.write(server={"workers": 2})
    server.serving()
    before = pids(server)
    failures: list[Exception] = []
    seen: set[int] = set()
    done = threading.Event()

    def call() -> None:
        while not done.is_set():
            try:
                seen.add(server.get("/0.01")["pid"])
            except (OSError, http.client.HTTPException) as error:
                failures.append(error)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    slow = server.in_background("/1.5")
    server.write(aliases={"a": ["b"]})
    server.reload("reloaded")
    done.set()
    for caller in callers:
        caller.join()
    after = pids(server)
    assert failures == []
    assert slow.result()["pid"] in before.values()
    assert set(after) == set(before)
    eventually(lambda: not any(alive(pid) for name, pid in before.items() if name != "coordinator"))
    assert seen & set(before.values())
    assert seen & set(after.values())
    assert server.state.epoch == 2
    assert {process.epoch for process in server.state.processes if process.role in ("worker", "control")} == {2}


def test_invalid_settings_change_nothing_and_are_named(server):
    server.serving()
    before = pids(server)
    server.script.write_text('{"settings": ')
    notice = server.reload("refused")
    assert f"{server.script}:1: " in notice["text"]
    assert server.state.reload_error == notice["text"]
    assert server.state.epoch == 1
    assert pids(server) == before
    server.write()
    server.reload("reloaded")
    assert server.state.reload_error == ""
    assert server.state.epoch == 2


def test_a_new_address_is_refused(server):
    server.serving()
    before = pids(server)
    server.write(server={"host": "127.0.0.2"})
    assert "this needs a restart" in server.reload("refused")["text"]
    assert pids(server) == before


def test_engines_start_and_end_as_models_come_and_go_and_others_are_left_alone(server):
    server.write(models=[MODEL])
    server.serving()
    first = pids(server)
    server.write(models=[MODEL, OTHER])
    server.reload("reloaded")
    eventually(lambda: server.named("engine-other").state == "ready")
    second = pids(server)
    assert second["engine-small"] == first["engine-small"]
    server.write(models=[OTHER])
    server.reload("reloaded")
    eventually(lambda: "engine-small" not in pids(server))
    assert not alive(first["engine-small"])
    assert pids(server)["engine-other"] == second["engine-other"]


def test_an_engine_whose_settings_changed_is_replaced(server):
    server.write(models=[MODEL, OTHER])
    server.serving()
    before = pids(server)
    server.write(models=[{**MODEL, "max_running": 2}, OTHER])
    server.reload("reloaded")
    eventually(lambda: server.named("engine-small").state == "ready")
    assert pids(server)["engine-small"] != before["engine-small"]
    assert pids(server)["engine-other"] == before["engine-other"]


def test_the_number_of_workers_may_change(server):
    server.serving()
    server.write(server={"workers": 3})
    server.reload("reloaded")
    assert {"worker-0", "worker-1", "worker-2"} <= set(pids(server))
    server.write(server={"workers": 1})
    server.reload("reloaded")
    eventually(lambda: {name for name in pids(server) if name.startswith("worker")} == {"worker-0"})
    assert {server.get()["name"] for _ in range(30)} == {"worker-0"}


def test_a_worker_that_does_not_start_with_new_settings_leaves_the_old_one_serving(server):
    server.serving()
    before = pids(server)["worker-0"]
    server.write(server={"workers": 2}, behaviour={"worker-1": "setup-error"})
    assert "worker-1 has no legs" in server.reload("refused")["text"]
    server.write(server={"workers": 1}, behaviour={"worker-0": "setup-error"})
    assert "worker-0 has no legs" in server.reload("refused")["text"]
    assert {server.get()["name"] for _ in range(30)} == {"worker-0"}
    assert not alive(before)


def test_a_failed_successor_that_took_over_the_private_socket_does_not_make_the_old_one_look_hung(server):
    server.write(timings=PINGS)
    server.serving()
    before = pids(server)["worker-0"]
    server.write(behaviour={"worker-0": "late-error"}, timings=PINGS)
    assert "worker-0 lost its legs" in server.reload("refused")["text"]
    for _ in range(20):
        assert server.get("/0.05")["pid"] == before
    assert server.named("worker-0").restarts == 0


def test_a_reload_is_cut_short_by_the_end(server):
    server.serving()
    server.write(behaviour={"worker-0": "never-ready"})
    since = len(server.notices)
    server.signal(signal.SIGHUP)
    server.notice("loading", "worker-0", since=since)
    server.signal(signal.SIGTERM)
    assert server.ended() == 0
    assert list(server.tmp.iterdir()) == []


def test_workers_that_take_new_settings_stay(server):
    takes = {"worker-0": "takes-updates", "worker-1": "takes-updates", "control": "takes-updates"}
    server.write(server={"workers": 2}, behaviour=takes)
    server.serving()
    before = pids(server)
    slow = server.in_background("/1.5")
    server.write(server={"workers": 2}, aliases={"a": ["b"]}, behaviour=takes)
    server.reload("reloaded")
    assert pids(server) == before
    assert {process.epoch for process in server.state.processes if process.name in takes} == {2}
    assert slow.result()["pid"] in before.values()
    for _ in range(20):
        assert server.get()["aliases"] == ["a"]
    os.kill(pids(server)["worker-0"], signal.SIGKILL)
    eventually(lambda: server.named("worker-0").state == "ready")
    for _ in range(20):
        assert server.get()["aliases"] == ["a"]


def test_settings_that_a_worker_refuses_change_nothing(server):
    refuses = {"worker-0": "refuses-updates"}
    server.write(behaviour=refuses)
    server.serving()
    before = pids(server)["worker-0"]
    server.write(aliases={"a": ["b"]}, behaviour=refuses)
    text = server.reload("refused")["text"]
    assert "worker-0 keeps the old settings: these are not to its taste" in text
    assert "season them" in text
    assert server.get()["aliases"] == []
    assert pids(server)["worker-0"] == before


@pytest.mark.parametrize("behaviour", ["trips-over-updates", "hangs-at-updates"])
def test_a_worker_that_cannot_go_over_to_new_settings_is_replaced(server, behaviour):
    server.write(behaviour={"worker-0": behaviour}, timings={"update": 0.3})
    server.serving()
    before = pids(server)["worker-0"]
    server.write(aliases={"a": ["b"]}, behaviour={"worker-0": behaviour}, timings={"update": 0.3}, server={"grace": 0.1})
    server.reload("reloaded")
    assert pids(server)["worker-0"] != before
    eventually(lambda: not alive(before))  # until then it takes connections from the socket that both hold
    assert server.get()["aliases"] == ["a"]
