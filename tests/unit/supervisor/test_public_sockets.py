import contextlib
import os
import socket
from pathlib import Path

import pytest

from antiphon.core.errors import PortBusy, SetupError
from antiphon.supervisor.sockets import PublicSockets


@pytest.fixture
def sockets():
    with contextlib.closing(PublicSockets("127.0.0.1", 0)) as sockets:
        yield sockets


def port_of(fd: int) -> int:
    with socket.socket(fileno=os.dup(fd)) as sock:
        return sock.getsockname()[1]


def test_each_worker_has_a_socket_of_its_own_on_the_same_port(sockets):
    shares = sockets.shares(3)
    fds = [fd for share in shares for fd in share]
    assert [len(share) for share in shares] == [1, 1, 1]
    assert len(set(fds)) == 3
    assert {port_of(fd) for fd in fds} == {sockets.port}
    assert sockets.address == f"http://127.0.0.1:{sockets.port}"


def test_fewer_workers_share_all_sockets_so_that_no_connection_is_lost(sockets):
    fds = {fd for share in sockets.shares(3) for fd in share}
    shares = sockets.shares(2)
    assert [len(share) for share in shares] == [2, 1]
    assert {fd for share in shares for fd in share} == fds


def test_a_share_stays_the_same(sockets):
    assert sockets.shares(2) == sockets.shares(2)


def test_sockets_without_a_worker_are_closed(sockets):
    first, second = sockets.shares(2)
    sockets.close_unused(set(first))
    assert sockets.shares(1) == [first]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(second[0])


@pytest.mark.parametrize("shared", [True, False])
def test_a_port_in_use_is_refused_even_if_its_holder_would_share_it(shared):
    with socket.create_server(("127.0.0.1", 0), reuse_port=shared) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(PortBusy, match=f"port {port} on 127.0.0.1 is in use") as caught:
            PublicSockets("127.0.0.1", port)
    assert "--port" in caught.value.remedy


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
