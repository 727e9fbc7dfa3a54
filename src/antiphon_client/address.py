"""Where the server is, and what is shown to it: arguments first, then the environment, then this machine."""

import os
from collections.abc import Mapping
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from antiphon_client.errors import ConfigurationError, Details

DEFAULT_URL = "http://127.0.0.1:8080"
URL_VARIABLES = ("ANTIPHON_BASE_URL", "ANTIPHON_URL")
"""The second is what the command line reads."""
KEY_VARIABLE = "ANTIPHON_API_KEY"
SHORTEST_SECRET = 6
"""Characters. What is shorter, such as a "none" for servers that want no key, is a word that errors may contain."""
_PORTS = {"http": 80, "https": 443}


class Secret:
    """A text that shows itself to nobody but who asks for ``reveal``."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def redact(self, text: str) -> str:
        """``text`` without this secret in it."""
        return text.replace(self._text, "***") if len(self._text) >= SHORTEST_SECRET else text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(***)" if self._text else "Secret()"

    __str__ = __repr__


class Address(msgspec.Struct, frozen=True):
    """A server: ``http://host:port``, ``https://host``, either with a path, or ``unix:/path/of/socket``."""

    scheme: str
    host: str
    port: int | None
    root: str
    """Path that health, metrics and administration are below; mostly empty."""
    socket: str = ""
    """Path of a Unix socket; empty for TCP."""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Take a URL apart; one that ends in ``/v1`` means the server above it. Raises ConfigurationError."""
        text = url.strip()
        if text.startswith("unix:"):
            path = unquote(text.removeprefix("unix:").removeprefix("//"))
            if not path.startswith("/"):
                raise _no_url(text, "give the socket's path from the root, like unix:/run/antiphon.sock")
            return cls("http", "localhost", None, "", path)
        parts, port = _split(text)
        return cls(parts.scheme, _host(parts), port, parts.path.rstrip("/").removesuffix("/v1"))

    @property
    def authority(self) -> str:
        """What the ``host`` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (None, _PORTS[self.scheme]) else f"{host}:{self.port}"

    @property
    def is_this_machine(self) -> bool:
        """Whether no proxy can be in between."""
        return bool(self.socket) or self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __str__(self) -> str:
        return f"unix:{self.socket}" if self.socket else f"{self.scheme}://{self.authority}{self.root}"


def given_or_named(base_url: str | None, environ: Mapping[str, str] = os.environ) -> Address:
    """The address that was given, else the one that the environment names, else this machine's. Raises ConfigurationError."""
    named = next((url for name in URL_VARIABLES if (url := environ.get(name, ""))), DEFAULT_URL)
    return Address.parse(named if base_url is None else base_url)


def key(api_key: str | None, environ: Mapping[str, str] = os.environ) -> Secret:
    """The key that was given, else the one of the environment, else none. Raises ConfigurationError, which does not show it."""
    text = environ.get(KEY_VARIABLE, "") if api_key is None else api_key
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ConfigurationError(
            "the API key holds blanks, line breaks or characters that are not ASCII",
            Details(attempts=0, remedy="give it as the operator wrote it", param="api_key"),
        )
    return Secret(text)


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:  # of a port, or of an address in brackets
        raise _no_url(url, "give one like http://127.0.0.1:8080") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            "the base URL holds a user name or a password",
            Details(attempts=0, remedy="leave them out, and give the key as api_key", param="base_url"),
        )
    plain = url.isprintable() and " " not in url and parts.path.isascii() and not parts.query and not parts.fragment
    if parts.scheme not in _PORTS or not parts.hostname or not plain:
        raise _no_url(url, "give one like http://127.0.0.1:8080, https://llm.example.com or unix:/run/antiphon.sock")
    return parts, port


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise _no_url(parts.geturl(), "write the host's name in ASCII") from None


def _no_url(url: str, remedy: str) -> ConfigurationError:
    shown = url if "@" not in url else "..."
    return ConfigurationError(f'"{shown}" is not the URL of a server', Details(attempts=0, remedy=remedy, param="base_url"))
