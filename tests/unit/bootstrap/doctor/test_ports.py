import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.bootstrap.doctor import Subject, asking, ports
from antiphon.bootstrap.doctor.leftovers import run_folders_of_the_dead
from antiphon.bootstrap.doctor.ports import port, server
from antiphon.bootstrap.run_folders import LOCK, PREFIX, run_folders
from antiphon.bootstrap.state import write_state
from antiphon.config import Loaded, ServerSettings, Settings
from antiphon.core.errors import SetupError, UpstreamTimeout
from antiphon.core.processes import ProcessError, ProcessState, ServerState
from antiphon.testing import MockUpstream
from tests.integration.transport.certificates import Authority


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def stranger() -> Iterator[MockUpstream]:
    """Something that speaks HTTP and is no Antiphon: its /health is not found."""
    with MockUpstream() as upstream:
        yield upstream


def at(number: int) -> Subject:
    return Subject(Loaded(Settings(server=ServerSettings(port=number)), None, {}, ()))


def run_folder(folder: Path, state: ServerState) -> int:
    """A run folder as a living server has it; close what is given back, and it is one of the dead."""
    place = folder / f"{PREFIX}abc"
    place.mkdir()
    write_state(str(place), state)
    lock = os.open(place / LOCK, os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def state(number: int, *processes: ProcessState, reload_error: str = "") -> ServerState:
    return ServerState(77, 1, "127.0.0.1", number, time.time(), True, processes, reload_error)


def test_a_free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
    (finding,) = port(at(number))
    assert (finding.status, finding.found) == ("ok", f"port {number} on 127.0.0.1 is free")
    assert [finding.status for finding in port(at(0))] == ["ok"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only on a system with /proc can one see who it is")
def test_a_port_of_another_program(stranger):
    (finding,) = port(at(stranger.port))
    assert finding.status == "error"
    assert f"(pid {os.getpid()})" in finding.found
    assert "server.port" in finding.remedy


def test_an_address_of_another_machine():
    settings = Settings(server=ServerSettings(host="192.0.2.1"))
    with pytest.raises(SetupError, match=r"192\.0\.2\.1"):
        list(port(Subject(Loaded(settings, None, {}, ()))))


def test_stale_run_folders_are_told_and_left(temporary):
    lock = run_folder(temporary, state(1))
    (finding,) = run_folders_of_the_dead(Subject())
    assert finding.status == "ok"
    os.close(lock)
    (finding,) = run_folders_of_the_dead(Subject())
    assert (finding.status, str(temporary) in finding.found) == ("warning", True)
    assert [folder.alive for folder in run_folders()] == [False]


READY = ProcessState("worker-0", "worker", 1, "ready", 0.0, restarts=2)
BROKEN = ProcessState("engine-x", "engine", 1, "waiting", 0.0, error=ProcessError("no memory", remedy="free some"))


@pytest.fixture
def health(monkeypatch):
    """Whoever holds the port says that it is an Antiphon."""
    body = b'{"status": "ok", "version": "1.2.3", "parts": {"control": "ok", "engine-x": "starting"}}'
    answers = {"/health": 200, "/ready": 503}
    monkeypatch.setattr(ports, "ask", lambda origin, path, route=None: asking.Answer(answers[path], (), body))


@pytest.mark.parametrize(
    ("known", "status", "words"),
    [
        ((READY,), "ok", "all 1 processes are ready, restarted 2 time(s)"),
        ((READY, BROKEN), "warning", "engine-x is waiting: no memory; free some"),
    ],
)
def test_a_port_of_a_running_antiphon(stranger, health, temporary, known, status, words):
    lock = run_folder(temporary, state(stranger.port, *known))
    (finding,) = port(at(stranger.port))
    os.close(lock)
    assert finding.status == status
    assert "running Antiphon 1.2.3 (pid 77)" in finding.found
    assert words in finding.found


def test_a_server_without_a_worker_is_not_one_of_a_stranger(stranger, temporary):
    gone = ProcessState("worker-0", "worker", 1, "waiting", 0.0, error=ProcessError("no such file", remedy="bring it back"))
    lock = run_folder(temporary, state(stranger.port, gone))
    (finding,) = port(at(stranger.port))
    os.close(lock)
    assert finding.status == "error"
    assert "running Antiphon (pid 77), which answers every caller 503; worker-0 is waiting: no such file" in finding.found


def test_a_reload_that_was_refused_is_told(stranger, health, temporary):
    lock = run_folder(temporary, state(stranger.port, READY, reload_error="line 3 is wrong"))
    (finding,) = port(at(stranger.port))
    os.close(lock)
    assert (finding.status, "line 3 is wrong" in finding.found) == ("warning", True)


def test_a_running_antiphon_of_another_user_is_asked(stranger, health):
    (finding,) = port(at(stranger.port))
    assert (finding.status, "not ready: engine-x is starting" in finding.found) == ("warning", True)


def test_the_server_at_a_url(health):
    (finding,) = server(Subject(url="127.0.0.1:1"))
    assert finding.found.startswith("Antiphon 1.2.3 at http://127.0.0.1:1 is not ready")


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://a:b"])
def test_what_is_no_url(url):
    (finding,) = server(Subject(url=url))
    assert (finding.status, url in finding.found) == ("error", True)


def test_nobody_and_somebody_else_at_a_url(stranger):
    (finding,) = server(Subject(url=stranger.url))
    assert "not an Antiphon server" in finding.found
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
    (finding,) = server(Subject(url=f"http://127.0.0.1:{number}"))
    assert (finding.status, "cannot be reached" in finding.found) == ("error", True)


def silent(origin, path, route=None):
    raise UpstreamTimeout("nothing came")


def test_a_server_that_is_stopped_is_not_one_that_is_missing(monkeypatch):
    monkeypatch.setattr(ports, "ask", silent)
    (finding,) = server(Subject(url="127.0.0.1:1"))
    assert (finding.status, "says nothing" in finding.found) == ("error", True)
    assert "kill -CONT" in finding.remedy


def test_a_port_of_an_antiphon_that_is_stopped_is_not_one_of_a_stranger(stranger, monkeypatch, temporary):
    monkeypatch.setattr(ports, "ask", silent)
    lock = run_folder(temporary, state(stranger.port, READY))
    (finding,) = port(at(stranger.port))
    os.close(lock)
    assert "a running Antiphon (pid 77), which says nothing" in finding.found
    assert "kill -CONT" in finding.remedy


def test_a_certificate_that_is_not_trusted_is_told_with_how_to_trust_it(tmp_path):
    with MockUpstream(tls=Authority(tmp_path).server("127.0.0.1")) as upstream:
        (finding,) = server(Subject(url=upstream.url))
    assert (finding.status, "not trusted here" in finding.found) == ("error", True)
    assert "SSL_CERT_FILE" in finding.remedy
