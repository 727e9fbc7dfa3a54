"""Who is asked: one file per kind of provider, each ending in ``plugin = ...``.

A provider knows where its server is, which key it wants and how a call must look there. It holds no call; the executor does.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec

from antiphon.core.plugins import PluginGroup
from antiphon.core.types import Call
from antiphon.execution.providers._complaints import Complaints
from antiphon.execution.providers._lacking import Lacking
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route
from antiphon.transport.deadlines import DeadlineWheel

MIN_SECRET = 6
"""Bytes from which the value of a header counts as a secret: a shorter one would be found in innocent text."""


HeaderFields = tuple[tuple[bytes, bytes], ...]


class Abilities(msgspec.Struct, frozen=True):
    """What a provider's server can do: what its protocol gives, less what its row of configuration takes away."""

    stream_usage: bool = True
    """Understands ``stream_options.include_usage``."""
    chat: bool = True
    completions: bool = True
    embeddings: bool = True
    responses: bool = False
    """Speaks the Responses dialect itself; where not, it is asked as any chat."""
    tools: bool = True
    parallel_tools: bool = True
    json_schema: bool = True
    vision: bool = True
    audio: bool = True
    documents: bool = True
    reasoning: bool = True
    n: bool = True
    seed: bool = True
    logprobs: bool = True
    dimensions: bool = True
    rerank: bool = False
    moderations: bool = False
    images: bool = False
    speech: bool = False
    transcription: bool = False
    count_tokens: bool = False


class ProviderOptions(msgspec.Struct, frozen=True):
    """Where a provider is and what it can do."""

    name: str
    origin: Origin
    base_path: str = ""
    """Path of the API root, for example ``/v1``."""
    key: bytes = b""
    """Shown in the way of the protocol; empty shows none."""
    api_version: str = ""
    """Named with each call, where the protocol asks for it."""
    headers: HeaderFields = ()
    """Sent with each call."""
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

    def with_key(self, header: bytes = b"authorization", scheme: bytes = b"Bearer ") -> HeaderFields:
        """The headers, and the key in a header of its own, where there is one."""
        return (*self.headers, (header, scheme + self.key)) if self.key else self.headers

    def secrets(self) -> tuple[bytes, ...]:
        """The key, the values of ``headers`` and the proxy's credentials, in every spelling that an error may quote."""
        values = {value.partition(b" ")[2] if name == b"authorization" else value for name, value in self.headers}
        values.add(self.key)
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
    fields: bytes = b""
    """Further lines of the head, each ending in CRLF."""


class Server:
    """What every provider has, whatever it speaks: connections, secrets, and words for its troubles and for what it lacks."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel, more_secrets: tuple[bytes, ...] = ()) -> None:
        self.name = options.name
        self.local = options.local
        """It is a process of ours on this machine."""
        self.secrets = (*options.secrets(), *more_secrets)
        """What must not be passed on where the server quotes it."""
        self.complaints = Complaints(options.name)
        self.lacking = Lacking(options.elsewhere)
        self.pool = ClientPool(options.origin, options.timeouts, options.max_connections, wheel, options.route)


class Provider(Protocol):
    """A server that models can be asked of."""

    server: Server
    passing: Mapping[str, Passing]
    """Endpoints whose calls it takes as they are, and how their answers are watched."""
    outbound: Outbound
    """What is said to it where the call is none of those."""
    chat: ChatAbilities
    """What a translated chat may ask of it."""
    embedding: EmbeddingAbilities
    """What a translated call for embeddings may ask of it."""

    def prepare(self, call: Call, upstream: str) -> Prepared:
        """Put ``call``, in its dialect, into the server's words; ``upstream`` is its name for the model.

        Raises UnsupportedParameter for what it lacks.
        """


class ProviderPlugin(Protocol):
    """What a provider's file ends in."""

    title: str
    """What the vendor, the program or the protocol is called."""
    documentation: str
    """Address at which its API is documented."""
    abilities: Abilities
    """What servers of its protocol can do, unless a row says less."""
    models_path: str
    """Path below the root at which a server lists its models."""
    url: str
    """Where its server is, unless a row says; empty where nobody can know."""

    def headers(self, options: ProviderOptions) -> HeaderFields:
        """What each request carries: the headers of the row, and the key in the way of the protocol."""

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> Provider: ...


class ServerLoad(msgspec.Struct, frozen=True, gc=False):
    """How busy a server says that it is."""

    running: int
    """Calls that it works on."""
    waiting: int
    """Calls that wait there."""
    kv_usage: float = 0.0
    """Share of its KV memory in use, 0 to 1; 0 where it does not say."""
    tokens: int = -1
    """Tokens in its KV memory that running calls need; negative where it does not say."""


class LoadPage(Protocol):
    """The page at which a kind of server tells its load."""

    @property
    def path(self) -> str:
        """Below the root of the server, beside ``/v1``."""

    @property
    def lag(self) -> float:
        """Seconds that its numbers may be old when it tells them."""

    def read(self, page: bytes, model: str) -> ServerLoad:
        """The load that a page tells of a model, by the server's name for it. Raises ValueError where it tells none."""


@runtime_checkable
class TellsLoad(Protocol):
    """What a plugin has beside whose servers tell their load."""

    @property
    def load(self) -> LoadPage | None: ...


@runtime_checkable
class ChecksRow(Protocol):
    """What a plugin has beside that wants more of a row than others."""

    def check(self, url: str, api_version: str) -> None:
        """Raises ConfigError for a row by which no call could go."""


PROVIDERS = PluginGroup("antiphon.providers", "antiphon.execution.providers")
