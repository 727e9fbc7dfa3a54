import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

import pytest

from antiphon.bootstrap.run_folders import LOCK, PREFIX
from antiphon.bootstrap.state import write_state
from antiphon.core.errors import PortBusy, SetupError
from antiphon.core.processes import ProcessState, ServerState
from antiphon.supervisor.sockets import PublicSockets


@pytest.fixture
def sockets():
    with contextlib.closing(PublicSockets("127.0.0.1", 0)) as sockets:
        yield sockets


def port_of(fd: int) -> int:
    with socket.socket(fileno=os.dup(fd)) as sock:
        return sock.getsockname()[1]


def all_of(shares: dict[str, tuple[int, ...]]) -> list[int]:
    return [fd for share in shares.values() for fd in share]


def listens(fd: int) -> bool:
    with socket.socket(fileno=os.dup(fd)) as sock:
        return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def test_each_worker_has_a_socket_of_its_own_on_the_same_port(sockets):
    shares = sockets.deal("abc", {}, listening=True)
    fds = all_of(shares)
    assert [len(share) for share in shares.values()] == [1, 1, 1]
    assert len(set(fds)) == 3
    assert {port_of(fd) for fd in fds} == {sockets.port}
    assert all(map(listens, fds))
    assert sockets.address == f"http://127.0.0.1:{sockets.port}"


def test_whoever_stays_keeps_its_sockets_and_gets_those_of_who_leaves(sockets):
    before = sockets.deal("abcd", {}, listening=True)
    after = sockets.deal("ac", before, listening=False)
    assert sorted(all_of(after)) == sorted(all_of(before))
    assert set(after["a"]) > set(before["a"])
    assert set(after["c"]) > set(before["c"])
    assert [len(share) for share in after.values()] == [2, 2]
    alone = sockets.deal("c", after, listening=False)
    assert sorted(alone["c"]) == sorted(all_of(before))


def test_new_workers_get_new_sockets_that_do_not_listen_yet_or_those_that_others_have_too_many_of(sockets):
    before = sockets.deal("a", {}, listening=True)
    after = sockets.deal("ab", before, listening=False)
    assert after["a"] == before["a"]
    assert not listens(after["b"][0])
    alone = sockets.deal("a", after, listening=False)
    again = sockets.deal("xay", alone, listening=False)
    assert [len(share) for share in again.values()] == [1, 1, 1]
    assert len(all_of(alone)) == 2
    assert set(all_of(alone)) < set(all_of(again))


def test_the_number_of_sockets_is_that_of_the_most_workers_there_were(sockets):
    shares = sockets.deal("a", {}, listening=True)
    for _ in range(5):
        shares = sockets.deal("abcd", shares, listening=False)
        shares = sockets.deal("b", shares, listening=False)
    assert len(set(all_of(shares))) == 4


def test_a_share_stays_the_same(sockets):
    shares = sockets.deal("ab", {}, listening=True)
    assert sockets.deal("ab", shares, listening=False) == shares
    assert sockets.deal("ba", shares, listening=False) == shares


def test_a_socket_that_two_had_for_a_while_belongs_to_one(sockets):
    a, b = sockets.deal("ab", {}, listening=True).values()
    shares = sockets.deal("ab", {"a": (*a, *b), "b": b}, listening=False)
    assert sorted(all_of(shares)) == sorted((*a, *b))
    assert [len(share) for share in shares.values()] == [1, 1]


def test_of_sockets_without_a_worker_those_without_a_connection_are_closed_and_the_others_told(sockets):
    first = sockets.deal("a", {}, listening=True)["a"]
    second = sockets.deal("ab", {"a": first}, listening=False)["b"]
    assert sockets.orphans(set(first)) == ()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(second[0])
    assert sockets.orphans(set()) == first
    assert listens(first[0])


@pytest.mark.parametrize("shared", [True, False])
def test_a_port_in_use_is_refused_even_if_its_holder_would_share_it(shared):
    with socket.create_server(("127.0.0.1", 0), reuse_port=shared) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(PortBusy, match=f"port {port} on 127.0.0.1 is in use") as caught:
            PublicSockets("127.0.0.1", port)
    assert "--port" in caught.value.remedy


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only on a system with /proc can one see who it is")
@pytest.mark.parametrize("known", [True, False])
def test_a_running_antiphon_on_the_port_is_called_by_its_name(tmp_path, monkeypatch, known):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = tmp_path / f"{PREFIX}abc"
    place.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as holder, (place / LOCK).open("w") as lock:
        port = holder.getsockname()[1]
        fcntl.flock(lock, fcntl.LOCK_EX)
        worker = ProcessState("worker-0", "worker", 1, "ready", 0.0, pid=os.getpid() if known else 1)
        write_state(str(place), ServerState(4711, 1, "127.0.0.1", port, 0.0, True, (worker,)))
        with pytest.raises(PortBusy) as caught:
            PublicSockets("127.0.0.1", port)
    assert ("in use by a running Antiphon (pid 4711)" in caught.value.message) is known
    assert ("kill 4711" in caught.value.remedy) is known
    assert f'make serve ARGS="--port {port % 65535 + 1}"' in caught.value.remedy


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only on a system with /proc can one see who it is")
def test_the_holder_of_a_port_is_named():
    said = rf"by .+ \(pid {os.getpid()}\); stop the program"
    with socket.create_server(("127.0.0.1", 0)) as holder, pytest.raises(PortBusy, match=said):
        PublicSockets("127.0.0.1", holder.getsockname()[1])


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(SetupError, match=r"192\.0\.2\.1"):
        PublicSockets("192.0.2.1", 0)


def test_the_url_of_an_ipv6_address_has_brackets():
    if not socket.has_ipv6:
        pytest.skip("only on a machine with IPv6")
    try:
        sockets = PublicSockets("::1", 0)
    except SetupError:
        pytest.skip("only on a machine with IPv6")
    with contextlib.closing(sockets):
        assert sockets.address == f"http://[::1]:{sockets.port}"
