"""Where a server is."""

from urllib.parse import urlsplit

import msgspec

from antiphon.core.errors import ConfigError


class Origin(msgspec.Struct, frozen=True):
    """Where a server is: a host and port, or a Unix socket."""

    scheme: str = "http"
    host: str = ""
    port: int = 80
    socket_path: str = ""

    @classmethod
    def parse(cls, url: str) -> "Origin":
        """The origin of an ``http`` or ``https`` address. Raises ConfigError for anything else."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f'"{url}" is not an address', remedy="write it as https://host/path or http://host:port/path")
        return cls(parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))

    @property
    def authority(self) -> str:
        """The ``host`` header's value."""
        if self.socket_path:
            return "localhost"
        default = 443 if self.scheme == "https" else 80
        return self._bracketed if self.port == default else self.target

    @property
    def target(self) -> str:
        """Host and port, as the CONNECT method wants them."""
        return f"{self._bracketed}:{self.port}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def __str__(self) -> str:
        return f"unix:{self.socket_path}" if self.socket_path else f"{self.scheme}://{self.authority}"
