"""What the settings say of TLS and proxies: as the transport takes it, and what is wrong with it."""

import ipaddress
import ssl
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from antiphon.config.settings import ProviderSettings, ServerSettings, Settings
from antiphon.core.errors import ConfigError
from antiphon.transport.origin import Origin
from antiphon.transport.proxies import Proxy, from_environment
from antiphon.transport.proxy_protocol import ProxyRules
from antiphon.transport.tls import TlsOptions, client_context, server_context

TLS_FIELDS = ("ca_file", "client_cert", "client_key", "server_name")
PROVIDER_FILES = ("ca_file", "client_cert", "client_key")
AUDIT_FILES = ("checkpoints", "key_file")
SERVER_FILES = ("tls_cert", "tls_key", "keys_file")

PROXY_VERSIONS = {"v1": frozenset((1,)), "v2": frozenset((2,)), "both": frozenset((1, 2))}
"""Versions of the PROXY protocol, by the value of ``proxy_protocol``."""

Report = Callable[[str, str, str], ConfigError]
"""Makes an error of the dotted path of a setting, what is wrong and what to do."""


def tls_options(provider: ProviderSettings) -> TlsOptions:
    """How a provider's server is trusted."""
    return TlsOptions(provider.ca_file, provider.client_cert, provider.client_key, provider.server_name, provider.verify)


def listening_tls(server: ServerSettings) -> ssl.SSLContext | None:
    """What HTTPS is served with, read now; None for HTTP. Raises ConfigError where a file cannot be used."""
    return server_context(server.tls_cert, server.tls_key) if server.tls_cert and server.tls_key else None


def proxy_rules(server: ServerSettings) -> ProxyRules | None:
    """Which proxies may say who the client is; None where nobody is asked to."""
    versions = PROXY_VERSIONS.get(server.proxy_protocol)
    networks = tuple(ipaddress.ip_network(network, strict=False) for network in server.trusted_proxies)
    return ProxyRules(versions, networks) if versions else None


def conflicts(settings: Settings, report: Report) -> Iterator[ConfigError]:
    """Settings that are of no use together. No file is read."""
    server = settings.server
    if bool(server.tls_cert) != bool(server.tls_key):
        given, missing = ("tls_cert", "tls_key") if server.tls_cert else ("tls_key", "tls_cert")
        yield report(
            f"server.{given}", f"server.{given} is set and server.{missing} is not", "set both for HTTPS, or none for HTTP"
        )
    yield from _proxy_protocol_errors(server, report)
    for index, provider in enumerate(settings.providers):
        path = f"providers[{index}]"
        given = next((name for name in TLS_FIELDS if getattr(provider, name)), "" if provider.verify else "verify")
        if given and urlsplit(provider.url).scheme == "http":
            yield report(
                f"{path}.{given}", f"{path}.{given} is about TLS, and the url begins with http", "write https, or remove it"
            )
        if provider.client_key and not provider.client_cert:
            yield report(f"{path}.client_key", f"{path} has client_key and no client_cert", "set both, or none")
        if provider.ca_file and not provider.verify:
            yield report(f"{path}.verify", f"{path} has a ca_file that is not used, because verify is false", "keep one of them")
        if provider.proxy.startswith("http://"):
            try:
                Proxy.parse(provider.proxy, f"{path}.proxy")
            except ConfigError as error:
                yield report(f"{path}.proxy", error.message, error.remedy)


def environment_errors(settings: Settings, environ: Mapping[str, str], report: Report) -> Iterator[ConfigError]:
    """Proxies that the environment names for a provider and that cannot be used."""
    for index, provider in enumerate(settings.providers):
        if provider.proxy != "environment":
            continue
        try:
            origin = Origin.parse(provider.url)
        except (ConfigError, ValueError):  # told where the settings themselves are checked
            continue
        try:
            from_environment(environ, origin)
        except ConfigError as error:
            path = f"providers[{index}].proxy"
            yield report(path, f'{path} is "environment", and {error.message}', error.remedy)


def file_errors(settings: Settings, report: Report) -> Iterator[ConfigError]:
    """Files of certificates and keys that cannot be used. They are read as they will be when a worker starts."""
    for index, provider in enumerate(settings.providers):
        try:
            client_context(tls_options(provider))
        except ConfigError as error:
            path = f"providers[{index}].{error.key}"
            yield report(path, f"{path}: {error.message}", error.remedy)
    try:
        listening_tls(settings.server)
    except ConfigError as error:
        yield report(f"server.{error.key}", f"server.{error.key}: {error.message}", error.remedy)


def _proxy_protocol_errors(server: ServerSettings, report: Report) -> Iterator[ConfigError]:
    if server.proxy_protocol == "none" and server.trusted_proxies:
        yield report(
            "server.trusted_proxies", "server.trusted_proxies is of no use without server.proxy_protocol", "set both, or none"
        )
    elif server.proxy_protocol != "none" and not server.trusted_proxies:
        yield report(
            "server.proxy_protocol",
            "server.proxy_protocol is set and server.trusted_proxies is not: nobody could connect",
            "list the addresses of the load balancers in server.trusted_proxies",
        )
    for index, network in enumerate(server.trusted_proxies):
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError:
            path = f"server.trusted_proxies[{index}]"
            yield report(path, f"{path} is no address and no network: {network}", "write it like 10.0.0.0/8, 192.0.2.7 or ::1")
