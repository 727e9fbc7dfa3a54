"""Dead and hanging processes come back, and nothing outlives the supervisor."""

import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.integration.supervisor.served import alive, eventually

MODEL = {"name": "small", "source": "file:/nowhere"}


@pytest.mark.parametrize("name", ["worker-0", "control", "engine-small"])
def test_a_killed_process_is_back_soon_and_the_state_tells_why_it_ended(server, name):
    server.write(models=[MODEL])
    server.serving()
    before = server.named(name)
    os.kill(before.pid, signal.SIGKILL)
    after = eventually(lambda: server.named(name).restarts == 1 and server.named(name).state == "ready" and server.named(name))
    assert after.pid != before.pid
    assert after.error.message == f"{name} was killed (SIGKILL)"
    assert "memory" in after.error.remedy


def test_a_connection_made_while_the_only_worker_is_dead_is_answered_by_its_successor(server):
    server.serving()
    dead = server.get()["pid"]
    os.kill(dead, signal.SIGKILL)
    assert eventually(lambda: not alive(dead))
    assert server.get()["pid"] != dead


def test_an_engine_that_crashes_again_and_again_leaves_the_rest_serving(server):
    server.write(models=[MODEL], behaviour={"engine-small": "crash"}, timings={"ping_every": 0, "backoff": {"limit": 0.2}})
    server.serving()
    eventually(lambda: server.named("engine-small").restarts >= 3)
    assert server.named("engine-small").error.message == "engine-small ended by itself with exit code 3"
    assert server.named("worker-0").restarts == 0
    assert server.get()["name"] == "worker-0"


def test_a_process_that_hangs_is_killed_and_comes_back(server):
    server.write(timings={"ping_every": 0.1, "ping_patience": 1.0, "ping_misses": 2})
    server.serving()
    hanging = server.named("worker-0").pid
    request = server.in_background("/hang")
    eventually(lambda: server.named("worker-0").restarts == 1 and server.named("worker-0").state == "ready")
    assert "no longer answered" in server.named("worker-0").error.message
    with pytest.raises(ConnectionError):
        request.result()
    assert server.get()["pid"] != hanging


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux can a process that runs no Python code be ended so")
def test_children_die_with_a_killed_supervisor_even_those_that_are_busy_in_c(server):
    server.write(models=[MODEL], behaviour={"control": "busy-in-c", "worker-0": "ignore-term"})
    server.serving()
    pids = server.pids()
    assert len(pids) == 3
    server.process.kill()
    eventually(lambda: not any(alive(pid) for pid in pids), seconds=5)


def test_a_child_ends_when_its_standard_input_does():
    child = os.path.join(os.path.dirname(__file__), "child_program.py")
    assert subprocess.run([sys.executable, child], stdin=subprocess.DEVNULL, check=False, timeout=30).returncode == 70


def test_a_supervisor_whose_window_was_closed_ends_in_order(server):
    window, terminal = pty.openpty()
    server.start(terminal=os.ttyname(terminal))
    server.notice("serving")
    os.close(terminal)
    pids = server.pids()
    os.close(window)
    assert server.ended() == 0
    assert not any(alive(pid) for pid in pids)
    assert list(server.tmp.iterdir()) == []
