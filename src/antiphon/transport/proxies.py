"""HTTP proxies on the way to a server: which one is taken, and the tunnel through it."""

import asyncio
import base64
import ipaddress
import socket
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

import httptools
import msgspec

from antiphon.core.errors import ConfigError, UpstreamUnreachable
from antiphon.transport.origin import Origin

DEFAULT_PORT = 80
"""Port of a proxy that is named without one."""

MAX_HEAD = 1 << 16
"""Bytes that a proxy's answer to CONNECT may have."""


class Proxy(msgspec.Struct, frozen=True):
    """An HTTP proxy. Neither its text nor its representation shows the credentials."""

    host: str
    port: int
    authorization: bytes = b""
    """Value of ``proxy-authorization``; empty sends none."""

    @classmethod
    def parse(cls, url: str, source: str) -> "Proxy":
        """The proxy behind ``http://user:password@host:port``; ``source`` says in errors who named it.

        Raises ConfigError, which never shows the text: it may hold a password.
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http":
            raise ConfigError(
                f"{source} names a proxy of the kind {parts.scheme!r}, which is not supported",
                remedy='name an HTTP proxy, as http://host:port, or set "proxy: none" at the provider',
            )
        try:
            port = parts.port or DEFAULT_PORT
        except ValueError:
            port = 0
        if not parts.hostname or not port:
            raise ConfigError(f"{source} is not the address of a proxy", remedy="write it as http://user:password@host:port")
        authorization = b""
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = b"Basic " + base64.b64encode(pair.encode())
        return cls(parts.hostname, port, authorization)

    def __str__(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({str(self)!r})"

    def __rich_repr__(self) -> Any:
        yield str(self)

    @property
    def secrets(self) -> set[bytes]:
        """The credentials as they are sent, and the password."""
        sent = self.authorization.partition(b" ")[2]
        return {sent, base64.b64decode(sent).partition(b":")[2]}

    @property
    def header(self) -> bytes:
        """The line of a request's head that carries the credentials; empty without any."""
        return b"proxy-authorization: %b\r\n" % self.authorization if self.authorization else b""


def from_environment(environ: Mapping[str, str], origin: Origin) -> Proxy | None:
    """The proxy that the usual variables name for a server, or None.

    ``HTTPS_PROXY`` or ``HTTP_PROXY`` by the server's scheme, else ``ALL_PROXY``; names in small letters go first. ``NO_PROXY``
    lists hosts (with all that end in them), addresses, networks (``10.0.0.0/8``), each perhaps with a port, or ``*``. This
    machine itself is never reached through a proxy. Raises ConfigError where a variable names what is no HTTP proxy.
    """
    if origin.socket_path or _is_this_machine(origin.host):
        return None
    for name in (f"{origin.scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            if url := environ.get(variable, "").strip():
                excluded = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
                return None if _excludes(excluded, origin) else Proxy.parse(url, f"the environment variable {variable}")
    return None


async def open_tunnel(sock: socket.socket, proxy: Proxy, origin: Origin) -> None:
    """Let ``proxy``, which ``sock`` is connected to, connect to ``origin`` (RFC 9110, section 9.3.6).

    Raises UpstreamUnreachable where the proxy refuses, and OSError.
    """
    loop = asyncio.get_running_loop()
    target = origin.target.encode()
    await loop.sock_sendall(sock, b"CONNECT %b HTTP/1.1\r\nhost: %b\r\n%b\r\n" % (target, target, proxy.header))
    answer = _TunnelAnswer()
    while not answer.complete:
        data = await loop.sock_recv(sock, 4096)
        if not data:
            raise UpstreamUnreachable(f"the proxy {proxy} closed the connection instead of opening a tunnel to {origin}")
        try:
            answer.feed(data)
        except httptools.HttpParserError as error:
            raise UpstreamUnreachable(
                f"what answers at {proxy} is no HTTP proxy", remedy="check the provider's proxy and its port"
            ) from error
    if not 200 <= answer.status < 300:
        raise refusal(answer.status, proxy, origin)


def refusal(status: int, proxy: Proxy, origin: Origin) -> UpstreamUnreachable:
    """What a proxy's own error status means."""
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        what = "does not accept the credentials that it was given" if proxy.authorization else "wants credentials"
        return UpstreamUnreachable(
            f"the proxy {proxy} {what} (status 407), so {origin} cannot be reached",
            remedy="set the provider's proxy to http://user:password@host:port",
        )
    phrase = f" {HTTPStatus(status).phrase}" if status in HTTPStatus._value2member_map_ else ""
    return UpstreamUnreachable(
        f"the proxy {proxy} could not reach {origin}: it answered {status}{phrase}",
        remedy="check that the proxy may connect there, or exclude the host with NO_PROXY",
    )


class _TunnelAnswer:
    """The head of a proxy's answer to CONNECT. What follows it is the server's, which says nothing before it is spoken to."""

    def __init__(self) -> None:
        self.status = 0
        self.complete = False
        self._size = 0
        self._parser: Any = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_HEAD:
            raise httptools.HttpParserError("the head is too large")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if not self.complete:
                raise
        if self.complete:
            self._parser = None

    def on_headers_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self.status = self.status or self._parser.get_status_code()
            self.complete = True


def _is_this_machine(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address else host == "localhost" or host.endswith(".localhost")


def _excludes(rules: str, origin: Origin) -> bool:
    return any(_matches(rule.strip().lower(), origin) for rule in rules.split(","))


def _matches(rule: str, origin: Origin) -> bool:
    if not rule:
        return False
    if rule == "*":
        return True
    address = _address(origin.host)
    if address is not None and "/" in rule:
        try:
            return address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    host, port = _host_and_port(rule)
    if port and port != str(origin.port):
        return False
    if address is not None:
        return address == _address(host)
    host = host.removeprefix("*").removeprefix(".")
    return bool(host) and (origin.host == host or origin.host.endswith(f".{host}"))


def _host_and_port(rule: str) -> tuple[str, str]:
    """``host:port`` in two; an address of IPv6 stands in brackets if there is a port."""
    if rule.startswith("["):
        host, _, port = rule[1:].partition("]")
        return host, port.removeprefix(":")
    if rule.count(":") == 1:
        host, _, port = rule.partition(":")
        return host, port
    return rule, ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
