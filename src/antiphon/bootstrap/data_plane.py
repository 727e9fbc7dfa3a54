"""Composes what a data-plane worker serves from the settings."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from antiphon import __version__
from antiphon.bootstrap.access import access
from antiphon.bootstrap.guarding import guarding
from antiphon.bootstrap.metering import metering
from antiphon.bootstrap.plan import coordinated
from antiphon.bootstrap.process import engine_name, socket_path
from antiphon.bootstrap.routes import Routes
from antiphon.config import ProviderSettings, Settings, tls_options
from antiphon.core.ledger import AGE, Ledger
from antiphon.core.ports import Model, Observer
from antiphon.core.response_store import ResponseStore
from antiphon.core.types import ModelCard
from antiphon.dispatch.coordinator.schedules.worker_desks import WorkerDesks
from antiphon.dispatch.directory import Directory
from antiphon.dispatch.load_polls import LoadSource
from antiphon.execution.executor.replica import Replica
from antiphon.execution.providers import PROVIDERS, Abilities, Provider, ProviderOptions, ProviderPlugin, TellsLoad
from antiphon.execution.providers._local import ENCODER, ENGINE
from antiphon.execution.wire.endpoints import ANTHROPIC, ENDPOINTS, OPENAI
from antiphon.gateway import pipeline
from antiphon.gateway.anthropic.models import AnthropicCatalogue
from antiphon.gateway.app import App, Catalogue
from antiphon.gateway.keys import KeyRing
from antiphon.gateway.metering import Metering
from antiphon.gateway.ollama.catalogue import OllamaCatalogue
from antiphon.gateway.openai.conversations import CONTINUED, Remembered
from antiphon.gateway.openai.models import Models
from antiphon.gateway.openai.responses import Responses
from antiphon.gateway.readiness import Readiness
from antiphon.gateway.relay import Relay
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route
from antiphon.transport.deadlines import DeadlineWheel
from antiphon.transport.proxies import Proxy, from_environment

LOCAL = "antiphon"
"""Name of the provider that stands for this machine."""
_LOCAL_TIMEOUTS = ClientTimeouts(connect=5.0, first_byte=3600.0, idle=3600.0, keep_alive=60.0)
"""A small machine may take minutes for a long answer in one piece; a host that dies is seen at once by its closed socket."""
RENEW_EVERY = AGE / 4
"""Seconds between two renewals of what calls under way have reserved, so that none is taken for forgotten."""
_PROBE_TIMEOUTS = ClientTimeouts(connect=1.0, first_byte=1.0, idle=1.0)

_KINDS = {
    "chat": "chat",
    "completions": "chat",
    "embeddings": "embedding",
    "rerank": "rerank",
    "images": "image",
    "speech": "speech",
    "transcription": "transcription",
    "moderations": "moderation",
}
"""What the catalogue calls a model, by the first of the abilities that it has."""

log = logging.getLogger(__name__)


class Lasting(NamedTuple):
    """What a worker keeps through changes of its settings."""

    wheel: DeadlineWheel
    observer: Observer
    desks: WorkerDesks
    ledger: Callable[[], Ledger]
    """The ledger of the moment: it is another one where the coordinator comes or goes."""


class DataPlane:
    """What a worker serves, and the counters that it shares with its own stats."""

    def __init__(self, settings: Settings, keys: KeyRing, run_dir: str, lasting: Lasting, responses: ResponseStore | None) -> None:
        self._wheel = lasting.wheel
        self._pools: list[ClientPool] = []
        self.in_flight = pipeline.InFlight()
        self._load_sources: dict[str, LoadSource] = {}
        self._routes = Routes(settings, lasting.desks, self._load_sources)
        directory = Directory(self._replicas(settings, run_dir), settings.aliases, self._routes)
        self._routes.complete(directory)
        runs: dict[str, pipeline.Run] = {
            "parse": pipeline.parse_with_wishes if settings.routes else pipeline.parse,
            "reserve": self.in_flight.reserve,
            "choose": pipeline.choose(directory, dict.fromkeys(CONTINUED, lambda model: Remembered(model, responses))),
            "execute": pipeline.execute,
            "settle": self.in_flight.settle,
            "tell": pipeline.tell(lasting.observer, pipeline.forwarded_for if settings.server.proxy_protocol != "none" else None),
        }
        self._renewal: asyncio.TimerHandle | None = None
        if meter := metering(settings, directory, lasting.ledger):
            self._renew(meter)
            runs["reserve"] = pipeline.together(self.in_flight.reserve, meter.reserve)
            runs["settle"] = pipeline.together(self.in_flight.settle, meter.settle)
        host = Origin(socket_path=socket_path(run_dir, "compute"))
        if guards := guarding(settings, directory, lambda patience: self._pool(host, _host_timeouts(patience))):
            runs["guard"] = guards.look
            runs["choose"] = pipeline.together(guards.guard, runs["choose"])
        allowed = access(settings, keys, directory)
        if keys.required:
            runs["identify"] = allowed.identify
            runs["parse"] = pipeline.together(runs["parse"], allowed.authorise)
        control = self._pool(Origin(socket_path=socket_path(run_dir, "control")), ClientTimeouts())
        readiness = self._readiness(settings, run_dir)
        ollama = OllamaCatalogue(directory, readiness, _hosts(settings))
        models: dict[str, Catalogue] = {OPENAI.name: Models(directory), ANTHROPIC.name: AnthropicCatalogue(directory)}
        self.app = App(pipeline.Pipeline(runs, _report), models, Responses(responses), ollama, readiness, Relay(control), allowed)

    @property
    def definitions(self) -> set[bytes]:
        """Keys of the schedulers that it uses."""
        return self._routes.definitions

    @property
    def busy(self) -> bool:
        """Something is still being answered."""
        return self.in_flight.count > 0 or any(pool.busy for pool in self._pools)

    def begin(self) -> None:
        """Be the one that calls come to: ask replicas for their load."""
        self._routes.start_polls()

    def retire(self) -> None:
        """Calls come to another one: what is under way goes on, and nothing else."""
        self._routes.stop_polls()

    async def close(self) -> None:
        """Close the connections to all upstreams."""
        self.retire()
        if self._renewal is not None:
            self._renewal.cancel()
        for pool in self._pools:
            await pool.close()

    def _renew(self, meter: Metering) -> None:
        """Have calls that run for long keep what they have reserved."""
        meter.renew(self.in_flight)
        self._renewal = asyncio.get_running_loop().call_later(RENEW_EVERY, self._renew, meter)

    def _replicas(self, settings: Settings, run_dir: str) -> list[tuple[ModelCard, Model]]:
        replicas: list[tuple[ModelCard, Model]] = []
        able = _able(settings)
        for local in settings.models:
            engine = self._local(socket_path(run_dir, engine_name(local.name)), ENGINE, able)
            replicas.append((ModelCard(local.name, LOCAL, abilities=_names(ENGINE)), Replica(engine, local.name)))
        if settings.embeddings.enabled:
            encoder = self._local(socket_path(run_dir, "compute"), ENCODER, able)
            card = ModelCard(settings.embeddings.name, LOCAL, kind="embedding", abilities=_names(ENCODER))
            replicas.append((card, Replica(encoder, settings.embeddings.name)))
        for row in settings.providers:
            options = msgspec.structs.replace(provider_options(row, os.environ), elsewhere=able)
            provider = self._connect(options, row.protocol)
            able_to = _abilities(row)
            kind, names = _kind(able_to), _names(able_to)
            replicas += [
                (ModelCard(model.name, row.name, kind=kind, abilities=names), Replica(provider, model.upstream or model.name))
                for model in row.models
            ]
            self._note_load_sources(row, options, provider)
        return replicas

    def _note_load_sources(self, row: ProviderSettings, options: ProviderOptions, provider: Provider) -> None:
        """Where the replicas of a row tell their load, if they do."""
        plugin: ProviderPlugin = PROVIDERS.load(row.protocol)
        load = plugin.load if isinstance(plugin, TellsLoad) else None
        if load is None:
            return
        pool = provider.server.pool
        head = pool.prepare("GET", options.base_path.removesuffix("/v1") + load.path, plugin.headers(options))
        for model in row.models:
            source = LoadSource(f"{row.name}/{model.upstream or model.name}", pool, head, load, model.upstream or model.name)
            self._load_sources[source.name] = source

    def _local(self, path: str, abilities: Abilities, able: Mapping[str, tuple[str, ...]]) -> Provider:
        return self._connect(
            ProviderOptions(
                LOCAL,
                Origin(socket_path=path),
                "/v1",
                abilities=abilities,
                timeouts=_LOCAL_TIMEOUTS,
                max_connections=4096,
                local=True,
                elsewhere=able,
            )
        )

    def _connect(self, options: ProviderOptions, protocol: str = "openai") -> Provider:
        provider: Provider = PROVIDERS.load(protocol).connect(options, self._wheel)
        self._pools.append(provider.server.pool)
        return provider

    def _pool(self, origin: Origin, timeouts: ClientTimeouts) -> ClientPool:
        pool = ClientPool(origin, timeouts, wheel=self._wheel)
        self._pools.append(pool)
        return pool

    def _readiness(self, settings: Settings, run_dir: str) -> Readiness:
        names = ["control", *(["coordinator"] if coordinated(settings) else []), *_hosts(settings)]
        return Readiness(
            {name: self._pool(Origin(socket_path=socket_path(run_dir, name)), _PROBE_TIMEOUTS) for name in names}, __version__
        )


def _host_timeouts(patience: float) -> ClientTimeouts:
    return ClientTimeouts(connect=min(1.0, patience), first_byte=patience, idle=patience, keep_alive=60.0)


def _able(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The models that have each ability."""
    rows: list[tuple[str, tuple[str, ...]]] = [(model.name, _names(ENGINE)) for model in settings.models]
    if settings.embeddings.enabled:
        rows.append((settings.embeddings.name, _names(ENCODER)))
    for row in settings.providers:
        rows += [(model.name, _names(_abilities(row))) for model in row.models]
    return {ability: tuple(dict.fromkeys(name for name, has in rows if ability in has)) for ability in Abilities.__struct_fields__}


def _hosts(settings: Settings) -> dict[str, str]:
    """The processes that hold the models on this machine, each with its model."""
    encoder = {"compute": settings.embeddings.name} if settings.embeddings.enabled else {}
    return encoder | {engine_name(model.name): model.name for model in settings.models}


def _names(able: Abilities) -> tuple[str, ...]:
    """The abilities that are there; those about chats only of models that chat."""
    by_themselves = {endpoint.ability for endpoint in ENDPOINTS.values() if endpoint.count is None}
    told = (name for name in able.__struct_fields__ if getattr(able, name))
    return tuple(name for name in told if able.chat or name in by_themselves)


def _kind(able: Abilities) -> str:
    """What the catalogue calls the models of a row."""
    return next((kind for ability, kind in _KINDS.items() if getattr(able, ability)), "chat")


def provider_options(row: ProviderSettings, environ: Mapping[str, str]) -> ProviderOptions:
    """What a row of configuration means for its provider, its key among the headers."""
    origin = Origin.parse(row.url)
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in row.headers.items()]
    return ProviderOptions(
        name=row.name,
        origin=origin,
        base_path=urlsplit(row.url).path.rstrip("/"),
        key=row.key.reveal().encode("latin-1"),
        api_version=row.api_version or "",
        headers=tuple(headers),
        abilities=_abilities(row),
        timeouts=ClientTimeouts(row.connect_timeout, row.first_byte_timeout, row.idle_timeout, max_age=row.max_connection_age),
        max_connections=row.max_connections,
        route=Route(tls_options(row), _proxy(row, origin, environ)),
    )


def _abilities(row: ProviderSettings) -> Abilities:
    """What a row's endpoint can do: what its protocol gives, and what the row says otherwise."""
    plugin: ProviderPlugin = PROVIDERS.load(row.protocol)
    told = {name: value for name, value in msgspec.structs.asdict(row.capabilities).items() if value is not None}
    return msgspec.structs.replace(plugin.abilities, **told)


def _proxy(row: ProviderSettings, origin: Origin, environ: Mapping[str, str]) -> Proxy | None:
    if row.proxy == "environment":
        return from_environment(environ, origin)
    return None if row.proxy == "none" else Proxy.parse(row.proxy, f"the proxy of provider {row.name}")


def _report(request_id: str, error: BaseException) -> None:
    log.error("request %s failed inside Antiphon", request_id, exc_info=error)
