"""The public listening sockets. The supervisor owns them, so that none is lost with a worker."""

import socket

from antiphon.core.errors import PortBusy
from antiphon.transport.holders import holder_of
from antiphon.transport.listeners import tcp_listener


class PublicSockets:
    """Sockets on one address, among which the kernel spreads new connections (SO_REUSEPORT).

    Raises PortBusy, SetupError when made. A socket in use is never closed before ``close``, even if there are fewer workers than
    before: the connections in its queue would be lost.
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

    def shares(self, workers: int) -> list[tuple[int, ...]]:
        """Descriptors for each worker: every socket belongs to one, and every worker has at least one."""
        while len(self._sockets) < workers:
            self._sockets.append(tcp_listener(self.host, self.port, shared=True))
        return [tuple(sock.fileno() for sock in self._sockets[index::workers]) for index in range(workers)]

    def close_unused(self, used: set[int]) -> None:
        """Close all but the sockets with these descriptors."""
        for sock in [sock for sock in self._sockets if sock.fileno() not in used]:
            self._sockets.remove(sock)
            sock.close()

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()


def _with_holder(error: PortBusy, port: int) -> PortBusy:
    holder = holder_of(port)
    return PortBusy(f"{error.message} by {holder}", remedy=error.remedy) if holder else error
