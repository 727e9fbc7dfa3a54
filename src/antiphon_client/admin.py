"""``client.admin``: how the server is."""

from typing import Any, Unpack
from urllib.parse import urlencode

import msgspec

from antiphon_client.answers import Answer, ApiObject, reader
from antiphon_client.options import CallOptions, Options
from antiphon_client.params import Params, take
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.transport.ask import Ask, ResponseInfo


class Health(Answer, frozen=True, kw_only=True, dict=True):
    """The process that answered runs."""

    status: str
    version: str = ""


class Readiness(Answer, frozen=True, kw_only=True, dict=True):
    """Whether everything that the server's configuration asks for serves."""

    status: str
    parts: dict[str, str]
    """Name -> ``ok``, ``busy``, ``starting`` or ``down``."""

    @property
    def is_ready(self) -> bool:
        """Whether all of it serves."""
        return self.status == "ready"


class ProcessError(ApiObject, frozen=True, kw_only=True, dict=True):
    """Why a process ended last."""

    message: str = ""
    code: str = ""
    remedy: str = ""
    setup: bool = False
    """The operator has to mend something; starting again alone will not help."""


class ProcessState(ApiObject, frozen=True, kw_only=True, dict=True):
    """One process of the server."""

    name: str
    role: str
    state: str
    """``starting``, ``loading``, ``ready``, ``waiting`` (to be started again), ``draining`` or ``stopped``."""
    epoch: int = 0
    """Epoch of the settings that it goes by."""
    since: float = 0.0
    """Unix time of the last change of state, seconds."""
    pid: int = 0
    restarts: int = 0
    detail: str = ""
    error: ProcessError | None = None
    model: str = ""
    """Engines: the model."""
    snapshot: str = ""
    """Workers: SHA-256 of the settings that they go by."""


class ServerState(Answer, frozen=True, kw_only=True, dict=True):
    """All processes of the server."""

    processes: tuple[ProcessState, ...]
    serving: bool = False
    pid: int = 0
    epoch: int = 0
    host: str = ""
    port: int = 0
    started_at: float = 0.0
    """Unix time, seconds."""
    reload_error: str = ""
    """Why the last reload changed nothing."""


class ReplicaState(ApiObject, frozen=True, kw_only=True, dict=True):
    """One replica of a route."""

    name: str
    """``provider/model``."""
    breaker: str = ""
    """``closed``, ``open`` or ``half_open``."""
    calls: int = 0
    """Calls that it has."""
    limit: int = 0
    """Calls that it may have at once, now."""
    tokens: int = 0
    """Tokens of these calls' prompts and expected answers."""
    rests_for: float = 0.0
    """Seconds for which it asked to be left alone."""
    first_token: float = 0.0
    """Seconds to the first token of a prompt of 1,000 tokens that came now, as far as known; 0 where it is not."""
    per_token: float = 0.0
    """Seconds an output token takes, as far as known."""
    others: int | None = None
    """Calls there that others sent, as it told last; none where it has not told its load in the last seconds."""


class RouteState(ApiObject, frozen=True, kw_only=True, dict=True):
    """One route."""

    name: str
    waiting: int = 0
    """Calls in the queue."""
    waiting_tokens: int = 0
    """Tokens of these, an answer's counting twice, by estimate."""
    running: int = 0
    """Calls at replicas."""
    replicas: tuple[ReplicaState, ...] = ()
    retries: int = 0
    """Times that a call was tried again, since the route's scheduler began, as all that follow."""
    hedges: int = 0
    """Calls that a second replica was asked for."""
    health: float = 1.0
    """Health score, 0 to 1."""
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    """Calls that were refused, by reason."""
    degraded: dict[str, int] = msgspec.field(default_factory=dict)
    """Calls that something lighter answered, by reason."""


class RouteStates(Answer, frozen=True, kw_only=True, dict=True):
    """The routes of the server."""

    routes: tuple[RouteState, ...] = ()


class CallUsage(ApiObject, frozen=True, kw_only=True, dict=True):
    """Tokens of a call that has ended."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class CallRecord(ApiObject, frozen=True, kw_only=True, dict=True):
    """A call that has ended."""

    id: str
    """The request id."""
    endpoint: str = ""
    model: str = ""
    """As the caller named it."""
    target: str = ""
    """``provider/model`` that answered; empty where none was reached."""
    principal: str = ""
    status: int = 0
    """HTTP status; 499 where the caller left first."""
    error: str = ""
    """Code of the error; empty on success."""
    stream: bool = False
    started_at: float = 0.0
    """Unix time, seconds."""
    duration: float = 0.0
    """Seconds."""
    ttft: float = 0.0
    """Seconds to the first content; 0 where there was none."""
    usage: CallUsage = CallUsage()
    attempts: int = 0
    """Models tried."""
    client: str = ""
    route: str = ""
    """Route that scheduled it; empty where none did."""
    waited: float = 0.0
    """Seconds in its queue."""
    candidates: dict[str, float] = msgspec.field(default_factory=dict)
    """Replicas that were compared, and what the policies gave each together, 0 to 1."""
    hedged: bool = False
    """A second replica was asked while the first was silent."""
    degraded: str = ""
    """What answered in place of the route's own replicas, and why."""
    cost: int = 0
    """In millionths of the unit of money."""
    estimated: bool = False
    """The usage, and so the cost, is an estimate."""
    team: str = ""
    project: str = ""
    application: str = ""
    user: str = ""
    """To whom the caller's key belongs."""
    guarded: tuple[str, ...] = ()
    """What guardrails did: ``side.mode.guardrail.KIND=count`` each."""


class CallList(Answer, frozen=True, kw_only=True, dict=True):
    """Calls that have ended, latest first."""

    data: tuple[CallRecord, ...]
    object: str = "list"


class CallListParams(CallOptions, total=False):
    """Which calls."""

    limit: int | None
    """1 to 1000; the server's default is 100."""
    model: str | None
    """Only calls of this model."""


class LimitState(ApiObject, frozen=True, kw_only=True, dict=True):
    """What somebody may use of something, and has used. Money is in millionths of its unit."""

    id: str
    scope: str = ""
    """``everyone``, ``team``, ``project``, ``application``, ``user``, ``key`` or ``model``."""
    name: str = ""
    measure: str = ""
    """``requests``, ``tokens``, ``input_tokens``, ``output_tokens``, ``concurrency`` or ``money``."""
    window: str = ""
    """``sliding``, ``calendar``, ``month`` or ``none``."""
    seconds: int = 0
    """Length of the window; 0 for months, and where there is none."""
    limit: int | None = None
    """None where the configuration has the limit no longer."""
    used: int = 0
    reserved: int = 0
    """By calls under way, as the most that they may use."""
    left: int | None = None
    resets_at: float | None = None
    """Unix time, seconds; None where the window slides, and where there is none."""


class LimitList(Answer, frozen=True, kw_only=True, dict=True):
    """Limits of which something is used, in the order of their ids."""

    data: tuple[LimitState, ...]
    has_more: bool = False
    """There are more: ask again with ``after`` the last id."""
    object: str = "list"


class LimitListParams(CallOptions, total=False):
    """Which limits."""

    limit: int | None
    """1 to 1000; the server's default is 100."""
    after: str | None
    """Only limits whose id comes behind this one."""
    scope: str | None
    """Only limits of keys, say (``key``)."""
    name: str | None
    """Only limits of this one."""


class UsageRow(ApiObject, frozen=True, kw_only=True, dict=True):
    """What some calls used together."""

    group: dict[str, str] = msgspec.field(default_factory=dict)
    """The value of each dimension that was asked for."""
    calls: int = 0
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: int = 0
    """Calls whose usage is an estimate."""
    cost: int = 0
    """In millionths of the unit of money."""


class UsageList(Answer, frozen=True, kw_only=True, dict=True):
    """What calls used, put together by what was asked for."""

    data: tuple[UsageRow, ...]
    truncated: bool = False
    """There are more rows than are told."""
    object: str = "list"


class UsageListParams(CallOptions, total=False):
    """Which calls, and what they are put together by."""

    by: str | None
    """With commas: ``key``, ``team``, ``project``, ``application``, ``user``, ``model``, ``target``, ``route``, ``endpoint``,
    ``hour``, ``day``, ``month``."""
    since: str | float | None
    """A date, a time in UTC, or Unix time in seconds."""
    until: str | float | None
    key: str | None
    """Only calls of this key; likewise all that follow."""
    team: str | None
    project: str | None
    application: str | None
    user: str | None
    model: str | None


class AuditRecord(ApiObject, frozen=True, kw_only=True, dict=True):
    """A record of the audit trail."""

    chain: str
    """Each server writes a chain of its own."""
    number: int
    """Counts the records of the chain, from 1."""
    at: float = 0.0
    """Unix time, seconds, at which it was written."""
    kind: str = ""
    """``call``, or an act such as ``keys.revoke``."""
    key: str | None = None
    """Name of the caller's key; none where there was none, or it was erased. Likewise the next three."""
    user: str | None = None
    client: str | None = None
    """Address of the caller."""
    actor: str | None = None
    """Acts: the account of the operating system that did it."""
    erased: tuple[str, ...] = ()
    """Which of these four were erased."""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    """All else that is known."""
    hash: str = ""
    """SHA-256 of the chain up to and with this record, in hexadecimal digits."""


class AuditList(Answer, frozen=True, kw_only=True, dict=True):
    """Records of the audit trail, latest first."""

    data: tuple[AuditRecord, ...]
    has_more: bool = False
    """There are more: ask again with ``after``, the last one's ``chain/number``."""
    object: str = "list"


class AuditListParams(CallOptions, total=False):
    """Which records."""

    limit: int | None
    """1 to 1000; the server's default is 100."""
    after: str | None
    """Only records behind this one: ``chain/number``."""
    since: str | float | None
    """A date, a time in UTC, or Unix time in seconds."""
    until: str | float | None
    key: str | None
    """Only records of this key; likewise all that follow."""
    user: str | None
    model: str | None
    status: int | None
    id: str | None
    """The request id."""
    kind: str | None


class Admin(Resource):
    """How the server is. Where it has keys, all but ``health``, ``ready`` and ``metrics`` want one."""

    def health(self, **options: Unpack[CallOptions]) -> Health:
        """That the server answers. Raises APIError."""
        return self._sender.whole(_health(_how(options, self._options)))

    def ready(self, **options: Unpack[CallOptions]) -> Readiness:
        """Whether everything serves, and each part by name; not to be ready is no error. Raises APIError."""
        return self._sender.whole(_ready(_how(options, self._options)))

    def processes(self, **options: Unpack[CallOptions]) -> ServerState:
        """The server's processes. Raises APIError."""
        return self._sender.whole(_processes(_how(options, self._options)))

    def routes(self, **options: Unpack[CallOptions]) -> RouteStates:
        """Queue and replicas of each route. Raises APIError."""
        return self._sender.whole(_routes(_how(options, self._options)))

    def calls(self, **params: Unpack[CallListParams]) -> CallList:
        """The last calls, latest first. Raises APIError."""
        return self._sender.whole(_calls(take(params, CallListParams, self._options)))

    def limits(self, **params: Unpack[LimitListParams]) -> LimitList:
        """What was used of each limit. Raises APIError."""
        return self._sender.whole(_limits(take(params, LimitListParams, self._options)))

    def usage(self, **params: Unpack[UsageListParams]) -> UsageList:
        """What callers have used and spent. Raises APIError."""
        return self._sender.whole(_usage(take(params, UsageListParams, self._options)))

    def audit(self, **params: Unpack[AuditListParams]) -> AuditList:
        """The audit trail, latest first. Raises APIError."""
        return self._sender.whole(_audit(take(params, AuditListParams, self._options)))

    def metrics(self, **options: Unpack[CallOptions]) -> str:
        """The metrics in Prometheus' text format. Raises APIError."""
        return self._sender.whole(_metrics(_how(options, self._options)))


class AsyncAdmin(AsyncResource):
    """How the server is. Where it has keys, all but ``health``, ``ready`` and ``metrics`` want one."""

    async def health(self, **options: Unpack[CallOptions]) -> Health:
        """That the server answers. Raises APIError."""
        return await self._sender.whole(_health(_how(options, self._options)))

    async def ready(self, **options: Unpack[CallOptions]) -> Readiness:
        """Whether everything serves, and each part by name; not to be ready is no error. Raises APIError."""
        return await self._sender.whole(_ready(_how(options, self._options)))

    async def processes(self, **options: Unpack[CallOptions]) -> ServerState:
        """The server's processes. Raises APIError."""
        return await self._sender.whole(_processes(_how(options, self._options)))

    async def routes(self, **options: Unpack[CallOptions]) -> RouteStates:
        """Queue and replicas of each route. Raises APIError."""
        return await self._sender.whole(_routes(_how(options, self._options)))

    async def calls(self, **params: Unpack[CallListParams]) -> CallList:
        """The last calls, latest first. Raises APIError."""
        return await self._sender.whole(_calls(take(params, CallListParams, self._options)))

    async def limits(self, **params: Unpack[LimitListParams]) -> LimitList:
        """What was used of each limit. Raises APIError."""
        return await self._sender.whole(_limits(take(params, LimitListParams, self._options)))

    async def usage(self, **params: Unpack[UsageListParams]) -> UsageList:
        """What callers have used and spent. Raises APIError."""
        return await self._sender.whole(_usage(take(params, UsageListParams, self._options)))

    async def audit(self, **params: Unpack[AuditListParams]) -> AuditList:
        """The audit trail, latest first. Raises APIError."""
        return await self._sender.whole(_audit(take(params, AuditListParams, self._options)))

    async def metrics(self, **options: Unpack[CallOptions]) -> str:
        """The metrics in Prometheus' text format. Raises APIError."""
        return await self._sender.whole(_metrics(_how(options, self._options)))


def _how(given: CallOptions, defaults: Options) -> Options:
    return take(given, CallOptions, defaults).options


def _health(options: Options) -> Ask[Health]:
    return Ask(path="/health", decode=reader(Health), options=options)


def _ready(options: Options) -> Ask[Readiness]:
    return Ask(path="/ready", decode=reader(Readiness), options=options, also=(503,))


def _processes(options: Options) -> Ask[ServerState]:
    return Ask(path="/admin/processes", decode=reader(ServerState), options=options)


def _routes(options: Options) -> Ask[RouteStates]:
    return Ask(path="/admin/routes", decode=reader(RouteStates), options=options)


def _calls(params: Params) -> Ask[CallList]:
    return Ask(path=_asking("/admin/calls", params), decode=reader(CallList), options=params.options)


def _limits(params: Params) -> Ask[LimitList]:
    return Ask(path=_asking("/admin/limits", params), decode=reader(LimitList), options=params.options)


def _usage(params: Params) -> Ask[UsageList]:
    return Ask(path=_asking("/admin/usage", params), decode=reader(UsageList), options=params.options)


def _audit(params: Params) -> Ask[AuditList]:
    return Ask(path=_asking("/admin/audit", params), decode=reader(AuditList), options=params.options)


def _asking(path: str, params: Params) -> str:
    """A path with what is asked for."""
    return f"{path}?{urlencode(params.body)}" if params.body else path


def _metrics(options: Options) -> Ask[str]:
    return Ask(path="/metrics", decode=_text, options=options, accept="text/plain")


def _text(body: bytes, _info: ResponseInfo) -> str:
    return body.decode("utf-8", "replace")
