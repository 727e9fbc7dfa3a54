"""Ending in order, and at once."""

import os
import signal

import pytest

from tests.integration.supervisor.served import alive, eventually

MODEL = {"name": "small", "source": "file:/nowhere"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_running_calls_are_finished_and_nothing_is_left(server, number):
    server.write(models=[MODEL])
    server.serving()
    pids = server.pids()
    request = server.in_background("/1.0")
    server.signal(number)
    assert request.result()["name"] == "worker-0"
    assert server.ended() == 0
    assert not any(alive(pid) for pid in pids)
    assert list(server.tmp.iterdir()) == []
    assert server.notice("ended")


def test_what_workers_need_outlives_them(server):
    server.write(models=[MODEL])
    server.serving()
    engine, worker = server.named("engine-small").pid, server.named("worker-0").pid
    request = server.in_background("/1.0")
    server.signal(signal.SIGTERM)
    eventually(lambda: server.named("worker-0").state == "draining")
    assert alive(engine)
    assert server.named("engine-small").state == "ready"
    request.result()
    assert server.ended() == 0
    assert not alive(engine)
    assert not alive(worker)


def test_a_second_signal_ends_everything_now(server):
    server.write(server={"grace": 600.0}, behaviour={"worker-0": "slow-to-end"})
    server.serving()
    pids = server.pids()
    server.signal(signal.SIGTERM)
    eventually(lambda: server.named("worker-0").state == "draining")
    server.signal(signal.SIGTERM)
    assert server.ended() == 0
    assert not any(alive(pid) for pid in pids)
    assert list(server.tmp.iterdir()) == []


def test_a_process_that_ignores_the_request_is_killed_after_the_grace(server):
    server.write(server={"grace": 0.2}, behaviour={"worker-0": "ignore-term"})
    server.serving()
    pids = server.pids()
    server.signal(signal.SIGTERM)
    assert server.ended() == 0
    assert not any(alive(pid) for pid in pids)
    assert "is killed" in server.errors.read_text()


def test_a_process_that_is_not_ready_yet_does_not_hold_up_the_end(server):
    server.write(models=[MODEL], server={"grace": 600.0}, behaviour={"engine-small": "stuck"})
    server.start()
    eventually(lambda: any(notice["text"] == "for ever" for notice in server.notices))
    server.notice("ready", "worker-0")
    server.signal(signal.SIGTERM)
    assert server.ended() == 0
    assert list(server.tmp.iterdir()) == []


def test_no_zombies_while_the_supervisor_lives(server):
    server.write(server={"workers": 2})
    server.serving()
    first = server.pids()
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(server.pids()) == len(first) and not set(first) & set(server.pids()))
    for pid in first:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
