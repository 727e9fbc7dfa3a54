"""Listening sockets, with an error that says what to do when they cannot be had."""

import contextlib
import errno
import os
import socket

from antiphon.core.errors import PortBusy, SetupError

BACKLOG = 4096


def unix_listener(path: str) -> socket.socket:
    """A Unix socket that listens at ``path``, open to this user alone; a stale one is replaced."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(path)
        os.chmod(path, 0o600)
    except OSError as error:
        sock.close()
        raise SetupError(
            f'the Unix socket "{path}" cannot be made: {error.strerror or error}', remedy="use a shorter, writable folder"
        ) from error
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


def tcp_listener(host: str, port: int, *, shared: bool = False, listening: bool = True) -> socket.socket:
    """A TCP socket that listens at ``host:port``; port 0 takes a free one.

    ``shared`` allows several sockets on one port (SO_REUSEPORT). Not ``listening`` yet it is only bound, and is given no connection
    before somebody listens on it. Raises PortBusy where the port is taken and SetupError where the
    address is not this machine's or may not be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise SetupError(
            f'the address "{host}" cannot be used: {error}', remedy="set server.host to an address of this machine"
        ) from error
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        if listening:
            sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _refused(host, port, error) from error
    sock.setblocking(False)
    return sock


def _refused(host: str, port: int, error: OSError) -> SetupError:
    if error.errno == errno.EADDRINUSE:
        return PortBusy(f"port {port} on {host} is in use", remedy="stop the program that holds it, or choose another with --port")
    if error.errno == errno.EACCES:
        return SetupError(f"port {port} on {host} may not be used by this user", remedy="choose a port above 1023 with --port")
    return SetupError(
        f"{host}:{port} cannot be listened on: {error.strerror or error}", remedy="set server.host to an address of this machine"
    )
