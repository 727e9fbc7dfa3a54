"""Every setting of Antiphon, with its type, default, range and meaning.

The docstring under a field is its text in the reference (``antiphon config reference``).
"""

from typing import Annotated, Any

import msgspec
import platformdirs
from msgspec import Meta

from antiphon.config.guardrail_settings import GuardrailSettings
from antiphon.config.limit_settings import LimitSettings, Owner, PriceSettings
from antiphon.config.route_settings import RouteSettings, Tier
from antiphon.config.secret import MASK, Secret, decode_hook, encode_hook, mask_hook
from antiphon.registry import default

Text = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
Name = Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]{1,256}$", description="a name without blanks, of 1 to 256 characters")]
LocalName = Annotated[
    str,
    Meta(
        pattern=r"^(?=.{1,128}$)[A-Za-z0-9][A-Za-z0-9._:-]*(/[A-Za-z0-9_:-][A-Za-z0-9._:-]*)*$",
        description="a name of letters, digits, '.', '_', ':', '-' and '/', of 1 to 128 characters",
    ),
]
Slug = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="a name of letters, digits, '.', '_' and '-', of 1 to 64 characters",
    ),
]
Checksum = Annotated[str, Meta(pattern=r"^([0-9a-fA-F]{64})?$", description="64 hexadecimal digits")]
Source = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9]*:.+$", description='a text that begins with "pypi:", "hf:", "file:" or "https:"')
]
BaseUrl = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        description='a URL like "https://host/v1": http or https, without user, query or fragment',
    ),
]
HeaderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", description="the name of an HTTP header")]
HeaderValue = Annotated[str, Meta(pattern=r"^[\x20-\x7e]*$", description="printable ASCII text", extra={"secret": True})]
ProxyUrl = Annotated[
    str,
    Meta(
        pattern=r"^(environment|none|http://([^\s/?#@]+@)?[^\s/?#@]+/?)$",
        description='"environment", "none" or the URL of an HTTP proxy like "http://user:password@host:3128"',
        extra={"secret": True},
    ),
]
ProxyProtocol = Annotated[str, Meta(pattern=r"^(none|v1|v2|both)$", description='"none", "v1", "v2" or "both"')]
Network = Annotated[
    str, Meta(pattern=r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$", description='an address or a network, like "10.0.0.0/8" or "::1"')
]
ServerName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.:_-]*$", description="the name of a host")]
Port = Annotated[int, Meta(ge=0, le=65535)]
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]


class KeySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key that a caller shows as ``Authorization: Bearer ...``."""

    name: Name
    """Who calls with this key. It stands in logs and metrics in place of the key."""
    key: Secret
    """The key itself. Write ``key: ${NAME}`` to take it from the environment, or ``key_file: path`` to read it from a file."""
    tier: Tier | None = None
    """Service tier of its calls, and the best that they may ask for; left out, they may ask for any, and are of their route's."""
    team: Owner = ""
    """Team that it belongs to, whose ``limits`` count its calls together with those of the team's other keys."""
    project: Owner = ""
    """Project that it belongs to."""
    application: Owner = ""
    """Application that uses it."""
    user: Owner = ""
    """Person who uses it."""
    expires: Annotated[str, Meta(max_length=64)] = ""
    """Date, or time (ISO 8601, in UTC unless it says otherwise), from which on it counts no longer."""
    roles: Annotated[tuple[Owner, ...], Meta(min_length=1)] | None = None
    """What it may do: ``admin``, ``platform``, ``ml``, ``developer``, ``auditor``, ``billing``, or roles of your own policies. Left
    out, those of ``access.default_roles``."""
    models: Annotated[tuple[Name, ...], Meta(min_length=1)] | None = None
    """The only models that it may use, by any of their names; left out, all that its roles may."""


class AccessSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may do what, where callers have keys."""

    default_roles: tuple[Owner, ...] = ("developer",)
    """Roles of keys that have none of their own."""
    policies: str = ""
    """Policies in Cedar's language, beside those of the built-in roles: what one forbids, no other permits."""


class ResponseSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of the answers to ``POST /v1/responses``, for callers who go on from them."""

    store: bool = True
    """Keep them, unless a call says ``store: false``. Each is seen by the key that asked for it alone."""
    max_mb: Annotated[int, Meta(ge=1, le=1 << 20)] = 1024
    """MiB that they may take in `data_dir`, which all workers share; what was not used for longest leaves first."""
    max_age_days: Annotated[float, Meta(gt=0, le=3650)] = 30.0
    """Days for which one is kept since it was used last."""


class RecordSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where finished calls are recorded: who called which model, what it used and cost. Neither prompts nor answers are."""

    url: Secret = Secret()
    """PostgreSQL database, like ``postgresql://user:password@host/name``, which several servers may share; it needs
    ``antiphon[postgres]``. Empty takes a SQLite file in `data_dir`. Write ``url: ${NAME}`` or ``url_file: path``."""
    keep_days: Annotated[float, Meta(ge=0, le=36500)] = 90.0
    """Days for which a call is kept; 0 keeps all."""


class AuditSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The audit trail: a chain of hashes over all calls and administrative acts, beside the ``records``."""

    enabled: bool = True
    """Keep it."""
    keep_days: Annotated[float, Meta(ge=0, le=36500)] = 400.0
    """Days for which a record is kept; 0 keeps all. Records go up to a signed checkpoint, and what stays can be verified."""
    checkpoints: str = ""
    """File of the signed checkpoints, best on another disk or host; empty takes ``audit/checkpoints.jsonl`` in `data_dir`."""
    checkpoint_records: Annotated[int, Meta(ge=1)] = 10000
    """Records after which a checkpoint is signed."""
    checkpoint_seconds: Seconds = 300.0
    """Seconds after which one is signed if anything was recorded, and at the end of the server."""
    key_file: str = ""
    """PEM file of the Ed25519 private key that signs; it is made where it is missing. Empty takes ``audit/signing-key.pem`` in
    `data_dir`."""


class ServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The public HTTP server."""

    host: Text = "127.0.0.1"
    """Address to listen on. ``0.0.0.0`` listens on all; configure ``keys`` before you do that."""
    port: Port = 8080
    """TCP port to listen on; 0 takes a free one, which is shown at start."""
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    """Data-plane processes. One serves thousands of streams; more make sense on machines with many cores. A reload may change their
    number: those that stay go on with what they have."""
    grace: Annotated[float, Meta(ge=0, le=86400)] = 10.0
    """Seconds that running calls get to finish when the server stops or restarts a worker."""
    max_body_mb: Annotated[int, Meta(ge=1, le=4096)] = 32
    """Largest request body, in MiB; a larger one is refused with status 413."""
    keep_alive: Seconds = 75.0
    """Seconds that an idle connection of a caller is kept open."""
    header_timeout: Seconds = 10.0
    """Seconds that a caller has to send the head of a request."""
    log_calls: bool = True
    """Log one line per finished call to stderr. Neither prompts nor answers are in it."""
    responses: ResponseSettings = ResponseSettings()
    """What is kept of the answers to ``POST /v1/responses``."""
    event_spill_mb: Annotated[int, Meta(ge=1, le=1 << 20)] = 256
    """MiB of finished calls that each worker keeps in `data_dir` while the control plane does not take them."""
    tls_cert: str = ""
    """PEM file of the certificate, with its chain, that HTTPS is served with; empty serves HTTP. Read again on reload."""
    tls_key: str = ""
    """PEM file of the private key that belongs to ``tls_cert``, without a passphrase."""
    proxy_protocol: ProxyProtocol = "none"
    """Version of the PROXY protocol, by which a load balancer in front says who its client is: ``v1``, ``v2`` or ``both``. Then
    each connection must begin with such a header, and come from one of ``trusted_proxies``; others are closed."""
    trusted_proxies: tuple[Network, ...] = ()
    """Addresses and networks of the load balancers that ``proxy_protocol`` is taken from, like ``10.0.0.0/8``."""
    keys: tuple[KeySettings, ...] = ()
    """Keys of the callers. With none, and no ``keys_file``, whoever reaches the listen address may call."""
    keys_file: str = ""
    """Text file of further keys, one ``name sha256:HEX`` a line, as ``antiphon keys new`` prints it; behind that there may be
    ``team=NAME``, ``project=NAME``, ``application=NAME``, ``user=NAME``, ``roles=NAME,NAME``, ``models=NAME,NAME`` and
    ``expires=TIME``. Read again on reload."""


class Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a provider's endpoint can do, where it differs from its protocol.

    What it cannot do is refused by name, before the call leaves.
    """

    stream_usage: bool | None = None
    """It understands ``stream_options.include_usage``; where it does not, Antiphon goes without."""
    chat: bool | None = None
    """It can chat."""
    completions: bool | None = None
    """It can complete plain text (``/completions``)."""
    responses: bool | None = None
    """It has ``/responses``: calls in that dialect go there as they are, and it keeps its responses itself."""
    embeddings: bool | None = None
    """It can embed texts."""
    tools: bool | None = None
    """It can call tools."""
    parallel_tools: bool | None = None
    """It can call several tools at once."""
    json_schema: bool | None = None
    """It can hold its answer to a JSON Schema (``response_format``)."""
    vision: bool | None = None
    """It can see images."""
    audio: bool | None = None
    """It can hear sounds."""
    documents: bool | None = None
    """It can read files."""
    reasoning: bool | None = None
    """It can be told how much to think (``reasoning_effort``)."""
    n: bool | None = None
    """It can give several answers to one prompt (``n``)."""
    seed: bool | None = None
    """It can repeat itself (``seed``)."""
    logprobs: bool | None = None
    """It can report log-probabilities."""
    dimensions: bool | None = None
    """It can shorten the vectors of texts (``dimensions``)."""
    rerank: bool | None = None
    """It can put documents in the order of their relevance (``/rerank``)."""
    moderations: bool | None = None
    """It can find what is harmful (``/moderations``)."""
    images: bool | None = None
    """It can make and change pictures (``/images``)."""
    speech: bool | None = None
    """It can speak (``/audio/speech``)."""
    transcription: bool | None = None
    """It can write down what is said (``/audio/transcriptions`` and ``/audio/translations``)."""
    count_tokens: bool | None = None
    """It can count the tokens of a chat before it is answered. Servers of the protocol ``openai`` do that at ``/tokenize``, as vLLM
    has it: beside ``/v1``, not below it."""


class ProviderModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that a provider serves. A plain text is short for ``name``."""

    name: Name
    """Name that callers use."""
    upstream: str = ""
    """Name that the provider uses; empty means the same."""


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An endpoint at which models can be asked."""

    name: Slug
    """Name of the provider, in logs, metrics and ``owned_by``."""
    url: BaseUrl = ""
    """Base URL up to and including the version, for example ``https://api.groq.com/openai/v1``. It may be left out where
    ``protocol`` names a vendor that has one address."""
    protocol: Slug = "openai"
    """Protocol that it speaks, or the vendor that it is, by the name of the plugin: ``openai``, which most speak, ``anthropic``,
    ``deepseek``. ``antiphon config protocols`` lists them."""
    api_version: Slug | None = None
    """Version of the API, for ``protocol: azure`` where the address does not end in ``/openai/v1``."""
    key: Secret = Secret()
    """API key, sent as the protocol wants it. Write ``key: ${NAME}`` or ``key_file: path``; empty sends none."""
    models: tuple[ProviderModel, ...] = ()
    """Models that it serves, each a name or a ``name``/``upstream`` pair. One that several providers have is tried at each."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Further request headers, for example ``api-key: ${AZURE_KEY}``. Their values are treated as secrets."""
    capabilities: Capabilities = Capabilities()
    """What the endpoint can do; all that its protocol gives unless said otherwise."""
    connect_timeout: Seconds = 5.0
    """Seconds to wait for a connection."""
    first_byte_timeout: Seconds = 600.0
    """Seconds to wait for the head of the answer. Be generous: one that is not streamed begins only when it is complete."""
    idle_timeout: Seconds = 60.0
    """Seconds that an answer may be silent once it has begun."""
    weight: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """Share of the calls, beside other providers of the same model, where a route's policy goes by weight."""
    region: str = ""
    """Where it is, for policies that go by distance."""
    rack: str = ""
    """Rack or zone inside the region, for the same."""
    host: str = ""
    """Machine that it runs on, for the same."""
    max_connections: Positive = 1024
    """Connections at once, per worker."""
    max_connection_age: Seconds = 300.0
    """Seconds for which a connection takes new calls, so that a changed DNS record is followed. Running calls are never cut."""
    proxy: ProxyUrl = "environment"
    """HTTP proxy on the way there: ``http://user:password@host:port``, ``none``, or ``environment``, which takes the variables
    ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` as most programs do. User and password are not shown."""
    ca_file: str = ""
    """PEM file of the certificate authorities that are trusted for this provider; empty trusts those of the system."""
    client_cert: str = ""
    """PEM file of the certificate that is shown to a provider that asks for one."""
    client_key: str = ""
    """PEM file of the private key that belongs to ``client_cert``; empty where that file holds both."""
    server_name: ServerName = ""
    """Name that the provider's certificate must be for; empty takes the host of ``url``."""
    verify: bool = True
    """Check the provider's certificate. Turned off, whoever stands in between can read key and calls."""

    def __rich_repr__(self) -> Any:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            yield field, dict.fromkeys(value, MASK) if field == "headers" else masked_proxy(value) if field == "proxy" else value

    def __repr__(self) -> str:
        return f"ProviderSettings({', '.join(f'{field}={value!r}' for field, value in self.__rich_repr__())})"


class LocalModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that runs on this machine, in a process of its own. The plain name of a built-in model is its whole row."""

    name: LocalName
    """Name that callers use."""
    source: Source
    """Where its files come from: ``pypi:package==version#path``, ``hf:owner/repository``, ``file:path`` or ``https://...``.
    A relative path starts from the folder of the configuration file."""
    sha256: Checksum = ""
    """SHA-256 of the file, 64 hexadecimal digits; another file is refused. Empty trusts the first fetch."""
    engine: Slug = "openvino"
    """Engine that runs it, by the name of its plugin."""
    threads: Natural = 0
    """Threads that compute; 0 takes the cores of the machine."""
    context: Natural = 0
    """Longest prompt and answer together, in tokens; 0 takes the model's own limit."""
    kv_cache_mb: Positive = 512
    """Memory for the key-value cache, in MiB."""
    max_running: Positive = 64
    """Sequences decoded at once."""
    max_waiting: Natural = 256
    """Calls that may wait for a place; one more is refused with status 429."""
    precision: Slug = "default"
    """Precision of the weights as the engine names it; ``default`` takes the file's own."""
    adapters: dict[Name, Text] = {}
    """LoRA adapters: name to source."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 1.0
    """Temperature of calls that give none; small models often want less than OpenAI's 1."""
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Nucleus sampling of calls that give none."""
    max_tokens: Natural = 0
    """Longest answer of chat calls that give no bound, in tokens; 0 takes what is left of the context."""


class EmbeddingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The built-in text encoder, which runs on this machine and knows 16 languages."""

    enabled: bool = True
    """Serve it."""
    name: Name = "usem3"
    """Name that callers use."""


DEFAULT_MODEL = LocalModelSettings(
    name=default.NAME,
    source=default.SOURCE,
    sha256=default.SHA256,
    temperature=default.TEMPERATURE,
    top_p=default.TOP_P,
    max_tokens=default.MAX_TOKENS,
)

BUILT_IN_MODELS = {DEFAULT_MODEL.name: DEFAULT_MODEL}
"""Models that a plain name stands for."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration."""

    server: ServerSettings = ServerSettings()
    """The public HTTP server."""
    providers: tuple[ProviderSettings, ...] = ()
    """Endpoints elsewhere."""
    models: tuple[LocalModelSettings, ...] = (DEFAULT_MODEL,)
    """Models on this machine, each a row or the name of a built-in one: ``[smollm2-135m-instruct]``.

    Left out, and ``providers`` too, it is that one. ``[]`` means none."""
    aliases: dict[Name, Annotated[tuple[Name, ...], Meta(min_length=1)]] = {}
    """Further names for models: a name, or a list of names that are tried in order until one answers."""
    routes: tuple[RouteSettings, ...] = ()
    """How calls are scheduled, for the models and aliases named here. Others are not queued: their providers are tried in order."""
    access: AccessSettings = AccessSettings()
    """Who may do what."""
    limits: tuple[LimitSettings, ...] = ()
    """What callers may use: calls, tokens, places, money."""
    prices: tuple[PriceSettings, ...] = ()
    """What calls cost. A model without a price costs nothing, unless money is limited: then each must have one."""
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$", description='three capital letters, like "USD" or "CNY"')] = "USD"
    """Unit of money of all ``prices`` and ``limits``."""
    guardrails: tuple[GuardrailSettings, ...] = ()
    """What is looked for in requests and answers: personal data, secrets, injections, banned words, and so on."""
    records: RecordSettings = RecordSettings()
    """Where finished calls are recorded, and for how long."""
    audit: AuditSettings = AuditSettings()
    """What is kept of calls and acts for those who have to prove it."""
    embeddings: EmbeddingSettings = EmbeddingSettings()
    """The built-in text encoder."""
    data_dir: Text = msgspec.field(default_factory=lambda: platformdirs.user_data_dir("antiphon", appauthor=False))
    """Folder for what must last: the catalogue of added models, conversations."""
    cache_dir: Text = msgspec.field(default_factory=lambda: platformdirs.user_cache_dir("antiphon", appauthor=False))
    """Folder for what can be fetched or built again: model files."""


def encode_settings(settings: Settings) -> bytes:
    """Settings as JSON with their secrets in clear text: only for the pipe to a child process."""
    return msgspec.json.encode(settings, enc_hook=encode_hook)


def decode_settings(data: bytes) -> Settings:
    """The counterpart of :func:`encode_settings`."""
    return msgspec.json.decode(data, type=Settings, dec_hook=decode_hook)


def masked_proxy(proxy: str) -> str:
    """A proxy's URL without its user and password."""
    before, at, after = proxy.rpartition("@")
    return f"{before.partition('://')[0]}://{MASK}@{after}" if at else proxy


def redacted(settings: Settings) -> dict[str, Any]:
    """Settings as JSON values, secrets, header values and what a proxy's URL holds of them as ``***``: for people and logs."""
    providers = tuple(
        msgspec.structs.replace(provider, headers=dict.fromkeys(provider.headers, MASK), proxy=masked_proxy(provider.proxy))
        for provider in settings.providers
    )
    tree: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(settings, providers=providers), enc_hook=mask_hook)
    return tree
