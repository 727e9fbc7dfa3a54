"""The public listening sockets. The supervisor owns them, so that none is lost with a worker."""

import socket
from collections.abc import Mapping, Sequence

from antiphon.bootstrap.run_folders import server_on
from antiphon.core.errors import PortBusy
from antiphon.transport.holders import holder_of
from antiphon.transport.listeners import tcp_listener

MAX_PORT = 65535


class PublicSockets:
    """Sockets on one address, among which the kernel spreads new connections (SO_REUSEPORT).

    Raises PortBusy, SetupError when made. A socket that a worker has listened on is never closed before ``close``, even if there
    are fewer workers than before: the connections in its queue would be lost.
    """

    def __init__(self, host: str, port: int, *, tls: bool = False) -> None:
        self.host = host
        self._scheme = "https" if tls else "http"
        try:
            probe = tcp_listener(host, port)  # a shared socket would not notice that another program shares the port
        except PortBusy as error:
            raise _with_holder(error, port) from error
        self.port: int = probe.getsockname()[1]
        probe.close()
        self._sockets: list[socket.socket] = [tcp_listener(host, self.port, shared=True)]

    @property
    def address(self) -> str:
        """The URL of the server's root."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self._scheme}://{host}:{self.port}"

    def deal(self, workers: Sequence[str], held: Mapping[str, tuple[int, ...]], *, listening: bool) -> dict[str, tuple[int, ...]]:
        """Descriptors for each worker: every socket belongs to one, and every worker has at least one.

        Whoever holds one keeps it, as far as others do not have fewer by two. New sockets get connections at once only if they are
        ``listening``, else from when their worker listens.
        """
        while len(self._sockets) < len(workers):
            self._sockets.append(tcp_listener(self.host, self.port, shared=True, listening=listening))
        free = {sock.fileno(): None for sock in self._sockets}
        shares: dict[str, list[int]] = {}
        for name in workers:
            shares[name] = [fd for fd in held.get(name, ()) if fd in free]
            for fd in shares[name]:
                del free[fd]
        for fd in free:
            min(shares.values(), key=len).append(fd)
        while len(most := max(shares.values(), key=len)) - len(least := min(shares.values(), key=len)) > 1:
            least.append(most.pop())
        return {name: tuple(share) for name, share in shares.items()}

    def orphans(self, used: set[int]) -> tuple[int, ...]:
        """Of the sockets that are not in use, close those that nobody has listened on; the descriptors of the others."""
        unused = [sock for sock in self._sockets if sock.fileno() not in used]
        for sock in [sock for sock in unused if not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)]:
            unused.remove(sock)
            self._sockets.remove(sock)
            sock.close()
        return tuple(sock.fileno() for sock in unused)

    @property
    def listening(self) -> tuple[socket.socket, ...]:
        """Those that have a queue of connections."""
        return tuple(sock for sock in self._sockets if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()


def _with_holder(error: PortBusy, port: int) -> PortBusy:
    holder = holder_of(port)
    elsewhere = f'take another port with --port, under make: make serve ARGS="--port {port % MAX_PORT + 1}"'
    if pid := _antiphon_on(port, holder):
        return PortBusy(
            f"{error.message} by a running Antiphon (pid {pid})",
            remedy=f'use that one ("antiphon doctor" shows how it is), stop it with "kill {pid}", or {elsewhere}',
        )
    by = f" by {holder}" if holder else ""
    return PortBusy(f"{error.message}{by}", remedy=f"stop the program that holds it, or {elsewhere}")


def _antiphon_on(port: int, holder: str) -> int:
    """Process of the server of this user that has the port; 0 where it has another holder."""
    folder = server_on(port)
    state = folder.state if folder else None
    if state is None:
        return 0
    pids = (state.pid, *(process.pid for process in state.processes))
    return state.pid if not holder or any(holder.endswith(f"(pid {pid})") for pid in pids) else 0
