"""The way to the server: trust, proxies, connections."""

import base64
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpcore2
import msgspec

from antiphon_client.address import Address, Secret
from antiphon_client.errors import ConfigurationError, Details


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """How the server is reached, where the usual does not do."""

    ca_file: str | Path | None = None
    """PEM file of the authorities that are trusted, instead of the system's (which ``SSL_CERT_FILE`` may name)."""
    client_cert: str | Path | None = None
    """PEM file of the certificate that is shown to the server."""
    client_key: str | Path | None = None
    """PEM file of its private key; None where ``client_cert`` holds both."""
    tls: ssl.SSLContext | None = None
    """A context of your own, instead of these three."""
    proxy: str | None = None
    """``http://user:password@host:port``. None takes what the environment names (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``,
    ``NO_PROXY``), but never for this machine itself; ``""`` takes none."""
    connect_timeout: float = 10.0
    """Seconds to connect to one address of the server, and again for TLS."""
    max_connections: int = 1000
    """At one time; a call beyond waits for one, at most its time-out."""
    keep_alive: float = 30.0
    """Seconds that an idle connection is kept for the next call. A server that closes it earlier does no harm."""

    def __repr__(self) -> str:
        """Without the proxy's password."""
        return f"Network(ca_file={self.ca_file!r}, client_cert={self.client_cert!r}, proxy={_shown(self.proxy)!r})"


DEFAULT_NETWORK = Network()


class Route(msgspec.Struct, frozen=True):
    """What connections to one server are made with."""

    address: Address
    network: Network
    tls: ssl.SSLContext | None
    """None for plain HTTP."""
    proxy: httpcore2.Proxy | None
    secret: Secret
    """The proxy's password."""


def route(address: Address, network: Network, environ: Mapping[str, str] = os.environ) -> Route:
    """The way to ``address``. Raises ConfigurationError where a file or the proxy cannot be used."""
    for name in ("connect_timeout", "max_connections", "keep_alive"):
        if not (value := getattr(network, name)) > 0:
            remedy = "give a number that is more than 0"
            raise ConfigurationError(f"{name} is {value!r}", Details(attempts=0, remedy=remedy, param=name))
    tls = _tls(network) if address.scheme == "https" else None
    url = _proxy_of_environment(address, environ) if network.proxy is None else network.proxy
    if not url or address.socket:
        return Route(address, network, tls, None, Secret(""))
    return Route(address, network, tls, *_proxy(url))


def _tls(network: Network) -> ssl.SSLContext:
    if network.tls is not None:
        return network.tls
    try:
        context = ssl.create_default_context(cafile=None if network.ca_file is None else str(network.ca_file))
    except (OSError, ssl.SSLError) as error:
        remedy = 'give a PEM file, which begins with "-----BEGIN CERTIFICATE-----"'
        raise _unusable(f"the authorities in {network.ca_file}", error, remedy, "ca_file") from error
    if network.client_cert is not None:
        try:
            context.load_cert_chain(network.client_cert, network.client_key, password="")
        except (OSError, ssl.SSLError) as error:
            remedy = "give PEM files of the certificate and of its key, without a passphrase"
            raise _unusable(f"the certificate in {network.client_cert}", error, remedy, "client_cert") from error
    return context


def _unusable(what: str, error: OSError, remedy: str, param: str) -> ConfigurationError:
    return ConfigurationError(f"{what} cannot be used: {error.strerror or error}", Details(attempts=0, remedy=remedy, param=param))


def _proxy_of_environment(address: Address, environ: Mapping[str, str]) -> str:
    if address.is_this_machine:
        return ""
    names = sorted((name for name in environ if name.lower().endswith("_proxy")), key=str.islower)  # small letters go first
    proxies = {name.lower().removesuffix("_proxy"): environ[name].strip() for name in names}
    if any(_covers(entry.strip().lower(), address) for entry in proxies.get("no", "").split(",")):
        return ""
    return proxies.get(address.scheme) or proxies.get("all", "")


def _covers(entry: str, address: Address) -> bool:
    """Whether an entry of NO_PROXY means this server: a host with all that end in it, perhaps with a port, or ``*``."""
    name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
    name = name.removeprefix("*").removeprefix(".")
    is_host = bool(name) and (address.host == name or address.host.endswith(f".{name}"))
    return entry == "*" or (is_host and port in ("", str(address.port)))


def _proxy(url: str) -> tuple[httpcore2.Proxy, Secret]:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or 80
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme != "http" or not parts.hostname or not parts.hostname.isascii():
        raise ConfigurationError(
            f"{_shown(url)!r} is not the address of an HTTP proxy",
            Details(attempts=0, remedy="write it as http://user:password@host:port", param="proxy"),
        )
    address = httpcore2.URL(scheme="http", host=parts.hostname, port=port, target="/")
    if parts.username is None:
        return httpcore2.Proxy(address), Secret("")
    password = unquote(parts.password or "")
    credentials = base64.b64encode(f"{unquote(parts.username)}:{password}".encode())
    return httpcore2.Proxy(address, headers={"proxy-authorization": b"Basic " + credentials}), Secret(password)


def _shown(proxy: str | None) -> str | None:
    """A proxy's URL without its credentials."""
    if proxy is None or "@" not in proxy:
        return proxy
    scheme, separator, rest = proxy.rpartition("://")
    return f"{scheme}{separator}***@{rest.rpartition('@')[2]}"
