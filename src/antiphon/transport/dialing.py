"""New connections: names are resolved, addresses are tried, proxies asked for tunnels, certificates checked.

Whatever fails is told as one UpstreamUnreachable that names the server, the reason and what to do.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohappyeyeballs
import msgspec

from antiphon.core.errors import UpstreamUnreachable
from antiphon.transport.origin import Origin
from antiphon.transport.proxies import Proxy, open_tunnel
from antiphon.transport.tls import TlsOptions, client_context, explain

ATTEMPT_DELAY = 0.25
"""Seconds until the next address is tried beside one that does not answer (RFC 8305, section 8)."""

PROBE_AFTER = 60
"""Seconds of silence after which the kernel asks whether the peer is still there; it gives up after four questions."""
PROBE_EVERY = 15
UNACKNOWLEDGED = 60
"""Seconds after which bytes that the peer's machine does not acknowledge end the connection."""

AddressInfo = tuple[int, int, int, str, Any]
"""Family, type, protocol, canonical name and address, as ``getaddrinfo`` gives them."""

Resolver = Callable[[str, int], Awaitable[Sequence[AddressInfo]]]
"""The addresses of a host and port, best first. Raises OSError where there are none."""


async def system_resolver(host: str, port: int) -> Sequence[AddressInfo]:
    """What the operating system knows: hosts file, DNS and whatever else it asks."""
    loop = asyncio.get_running_loop()
    return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)


class Route(msgspec.Struct, frozen=True):
    """How a server is reached, apart from where it is."""

    tls: TlsOptions = TlsOptions()
    proxy: Proxy | None = None
    resolve: Resolver = system_resolver


class Dialer:
    """Makes connections to one origin. Raises ConfigError where the files of its TLS options cannot be used."""

    def __init__(self, origin: Origin, route: Route) -> None:
        self._origin = origin
        self._proxy = None if origin.socket_path else route.proxy
        self._resolve = route.resolve
        self._tls = client_context(route.tls) if origin.scheme == "https" and not origin.socket_path else None
        self._server_name = route.tls.server_name or origin.host.rstrip(".")
        self._lookup: asyncio.Future[Sequence[AddressInfo]] | None = None

    @property
    def forwarding(self) -> Proxy | None:
        """The proxy that is sent whole requests to pass on, as it is done for ``http``; None where there is none or a tunnel."""
        return self._proxy if self._tls is None else None

    async def dial(self, factory: Callable[[], asyncio.Protocol], seconds: float) -> None:
        """Connect a new protocol within so many seconds. Raises UpstreamUnreachable."""
        origin, peer = self._origin, self._proxy or self._origin
        late = f"{origin} did not take a connection"
        sock: socket.socket | None = None
        try:
            async with asyncio.timeout(seconds):
                if origin.socket_path:
                    await self._connect_unix(factory)
                    return
                host, port = (self._proxy.host, self._proxy.port) if self._proxy else (origin.host, origin.port)
                late = f'the name "{host}" was not resolved'
                addresses = await self._addresses(host, port)
                late = f"{self._named(peer)} did not take a connection"
                sock = await self._connect(addresses, peer)
                if self._proxy is not None and self._tls is not None:
                    late = f"the proxy {self._proxy} opened no tunnel to {origin}"
                    await self._tunnel(sock, self._proxy)
                late = f"{origin} did not complete the TLS handshake"
                await self._attach(factory, sock)
        except BaseException as error:
            if sock is not None:
                sock.close()
            if isinstance(error, TimeoutError):
                raise UpstreamUnreachable(f"{late} within {seconds:g} s") from None
            raise

    async def _connect_unix(self, factory: Callable[[], asyncio.Protocol]) -> None:
        try:
            await asyncio.get_running_loop().create_unix_connection(factory, self._origin.socket_path)
        except OSError as error:
            raise UpstreamUnreachable(f"{self._origin} cannot be reached: {error.strerror or error}") from error

    async def _addresses(self, host: str, port: int) -> Sequence[AddressInfo]:
        """The addresses as they are now. Calls that want them at the same time share one look-up."""
        lookup = self._lookup
        if lookup is None or lookup.done():
            lookup = self._lookup = asyncio.ensure_future(self._resolve(host, port))
            lookup.add_done_callback(_hear)
        try:
            addresses = await asyncio.shield(lookup)
        except OSError as error:
            raise UpstreamUnreachable(
                f'the name "{host}" cannot be resolved: {error.strerror or error}',
                remedy="check the provider's url and the DNS of this machine",
            ) from error
        if not addresses:
            raise UpstreamUnreachable(f'the name "{host}" has no address', remedy="check the provider's url")
        return addresses

    async def _connect(self, addresses: Sequence[AddressInfo], peer: Origin | Proxy) -> socket.socket:
        try:
            sock = await aiohappyeyeballs.start_connection(addresses, happy_eyeballs_delay=ATTEMPT_DELAY, interleave=1)
        except (OSError, RuntimeError) as error:  # uvloop raises a RuntimeError for some addresses that cannot be used
            way = f", so {self._origin} cannot be either" if isinstance(peer, Proxy) else ""
            raise UpstreamUnreachable(f"{self._named(peer)} cannot be reached: {_reason(error)}{way}") from error
        _watch(sock)
        return sock

    async def _tunnel(self, sock: socket.socket, proxy: Proxy) -> None:
        try:
            await open_tunnel(sock, proxy, self._origin)
        except OSError as error:
            raise UpstreamUnreachable(
                f"the proxy {proxy} broke off while it opened a tunnel to {self._origin}: {_reason(error)}"
            ) from error

    async def _attach(self, factory: Callable[[], asyncio.Protocol], sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self._tls is None:
                await loop.create_connection(factory, sock=sock)
            else:
                await loop.create_connection(factory, sock=sock, ssl=self._tls, server_hostname=self._server_name)
        except OSError as error:
            words, remedy = explain(error)
            raise UpstreamUnreachable(f"{self._origin} cannot be reached safely: {words}", remedy=remedy) from error

    def _named(self, peer: Origin | Proxy) -> str:
        return f"the proxy {peer}" if isinstance(peer, Proxy) else str(peer)


def _hear(lookup: "asyncio.Future[Any]") -> None:
    """Take note of a look-up's failure: everybody who waited for it may have gone."""
    if not lookup.cancelled():
        lookup.exception()


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)


def _watch(sock: socket.socket) -> None:
    """Send small writes at once, and let the kernel find out when the peer's machine is gone."""
    wishes = [(socket.IPPROTO_TCP, "TCP_NODELAY", 1), (socket.SOL_SOCKET, "SO_KEEPALIVE", 1)]
    wishes += [
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", PROBE_AFTER),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", PROBE_EVERY),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 4),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", UNACKNOWLEDGED * 1000),
    ]
    for level, name, value in wishes:
        if hasattr(socket, name):  # which of them there are differs between systems
            with contextlib.suppress(OSError):
                sock.setsockopt(level, getattr(socket, name), value)
