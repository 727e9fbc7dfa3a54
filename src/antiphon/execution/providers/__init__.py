"""Who is asked: one file per kind of provider, each ending in ``plugin = ...``.

A provider knows where its server is, which key it wants and how a call must look there. It holds no call; the executor does.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from antiphon.core.plugins import PluginGroup
from antiphon.core.types import Call
from antiphon.execution.providers._complaints import Complaints
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route
from antiphon.transport.deadlines import DeadlineWheel

MIN_SECRET = 6
"""Bytes from which the value of a header counts as a secret: a shorter one would be found in innocent text."""


class Abilities(msgspec.Struct, frozen=True):
    """What a provider's server can do, as its row of configuration says."""

    stream_usage: bool = True
    """Understands ``stream_options.include_usage``."""
    chat: bool = True
    completions: bool = True
    embeddings: bool = True
    n: bool = True
    logprobs: bool = True
    json_schema: bool = True
    tools: bool = True


class ProviderOptions(msgspec.Struct, frozen=True):
    """Where a provider is and what it can do."""

    name: str
    origin: Origin
    base_path: str = ""
    """Path of the API root, for example ``/v1``."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """Sent with each call, the key among them."""
    abilities: Abilities = Abilities()
    timeouts: ClientTimeouts = ClientTimeouts()
    max_connections: int = 1024
    route: Route = Route()
    """TLS and the proxy."""
    local: bool = False
    """The server is a process of ours on this machine."""
    elsewhere: Mapping[str, tuple[str, ...]] = {}
    """Models, here and at others, that can do it, for each ability by its field: told to callers who ask in vain."""

    def __repr__(self) -> str:
        return f"ProviderOptions({self.name!r}, {self.origin})"

    def secrets(self) -> tuple[bytes, ...]:
        """The values of ``headers``, and the proxy's credentials, in every spelling that an error may quote, JSON's among them."""
        values = {value.partition(b" ")[2] if name == b"authorization" else value for name, value in self.headers}
        if self.route.proxy is not None:
            values |= self.route.proxy.secrets
        plain = [value for value in values if len(value) >= MIN_SECRET]
        escaped = [msgspec.json.encode(value.decode("latin-1"))[1:-1] for value in plain]
        return tuple(dict.fromkeys([*plain, *escaped, *(value.replace(b"/", b"\\/") for value in escaped)]))


class Prepared(msgspec.Struct, frozen=True):
    """A call as the provider's server wants it."""

    head: bytes
    """Beginning of the request's head, from ``ClientPool.prepare``."""
    body: bytes
    strips_usage: bool
    """The usage chunk was asked for by us, so the caller must not see it."""


class Provider(Protocol):
    """A server that models can be asked of."""

    name: str
    dialect: str
    """What its server speaks; a call in another one is translated."""
    chat: ChatAbilities
    """What a translated call may ask of it."""
    pool: ClientPool
    local: bool
    """The server is a process of ours on this machine."""
    secrets: tuple[bytes, ...]
    """What must not be passed on where the server quotes it."""

    complaints: Complaints
    """Where it is told how the provider fares."""

    def prepare(self, call: Call, upstream: str) -> Prepared:
        """Put ``call`` into the server's words; ``upstream`` is its name for the model. Raises InvalidRequest for what it lacks."""


class ProviderPlugin(Protocol):
    """What a provider's file ends in."""

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> Provider: ...


PROVIDERS = PluginGroup("antiphon.providers", "antiphon.execution.providers")
