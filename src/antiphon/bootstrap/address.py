"""Where the server of a configuration is called from this machine."""

from antiphon.config import ServerSettings
from antiphon.core.errors import ConfigError

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - what listens on all addresses is called by its loopback address


def own_url(server: ServerSettings) -> str:
    """URL of the server's root. Raises ConfigError where it cannot be told."""
    if server.port == 0:
        what = "the configuration lets the server choose its port, so its URL is not known"
        raise ConfigError(what, remedy="name it with --url, or in ANTIPHON_URL", key="server.port")
    host = WILDCARDS.get(server.host, f"[{server.host}]" if ":" in server.host else server.host)
    return f"{'https' if server.tls_cert else 'http'}://{host}:{server.port}"
