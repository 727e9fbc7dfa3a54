"""What the settings say of TLS and proxies: as the transport takes it, and what is wrong with it."""

import ssl
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from antiphon.config.settings import ProviderSettings, ServerSettings, Settings
from antiphon.core.errors import ConfigError
from antiphon.transport.proxies import Proxy
from antiphon.transport.tls import TlsOptions, client_context, server_context

TLS_FIELDS = ("ca_file", "client_cert", "client_key", "server_name")
PROVIDER_FILES = ("ca_file", "client_cert", "client_key")
SERVER_FILES = ("tls_cert", "tls_key")

Report = Callable[[str, str, str], ConfigError]
"""Makes an error of the dotted path of a setting, what is wrong and what to do."""


def tls_options(provider: ProviderSettings) -> TlsOptions:
    """How a provider's server is trusted."""
    return TlsOptions(provider.ca_file, provider.client_cert, provider.client_key, provider.server_name, provider.verify)


def listening_tls(server: ServerSettings) -> ssl.SSLContext | None:
    """What HTTPS is served with, read now; None for HTTP. Raises ConfigError where a file cannot be used."""
    return server_context(server.tls_cert, server.tls_key) if server.tls_cert and server.tls_key else None


def conflicts(settings: Settings, report: Report) -> Iterator[ConfigError]:
    """Settings that are of no use together. No file is read."""
    server = settings.server
    if bool(server.tls_cert) != bool(server.tls_key):
        given, missing = ("tls_cert", "tls_key") if server.tls_cert else ("tls_key", "tls_cert")
        yield report(
            f"server.{given}", f"server.{given} is set and server.{missing} is not", "set both for HTTPS, or none for HTTP"
        )
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
