"""The stages of one call, in their order.

1. identify: the key becomes a principal
2. parse: only what routing needs, the rest of the body stays raw; then whether the caller may ask for that
3. reserve: the call takes its place among those in flight, and what it may use at most is reserved
4. guard: what the caller says goes through the guardrails, which mask or block; 9 is prepared, which guards what the model says
6. choose: the name becomes a model
8. execute: the model answers into the exchange
10. settle: what was taken for the call is given back, but for what it has used
11. tell: one event for metrics, logs and records

A stage that a deployment does not use is left out of the list by ``bootstrap`` and costs nothing; the numbers in between belong to
such stages. Entering stages run until the model has been started; closing stages run once, whatever happened.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

import msgspec

from antiphon.core.errors import AntiphonError, Draining, InternalError, UnsupportedEncoding
from antiphon.core.events import CallFinished
from antiphon.core.ports import Model, Observer
from antiphon.core.types import NO_WISHES, Call, Principal, Wishes
from antiphon.dispatch.directory import Directory
from antiphon.execution.wire.bounds import bound_of
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.openai import passthrough as wire
from antiphon.execution.wire.openai.form import Form, is_form, read_form
from antiphon.gateway.exchange import Exchange
from antiphon.gateway.wishes import wishes_of
from antiphon.transport.server import FORWARDED_FOR, Request, Responder

Run = Callable[[Exchange], bool | None]
"""Does a stage's work. True: the call waits, and whoever it waits for calls ``Exchange.go_on``."""
_NONE: Mapping[str, Callable[[Model], Model]] = {}


class Stage(NamedTuple):
    """One step of the pipeline."""

    number: int
    name: str
    closing: bool = False


STAGES: Final = (
    Stage(1, "identify"),
    Stage(2, "parse"),
    Stage(3, "reserve"),
    Stage(4, "guard"),
    Stage(6, "choose"),
    Stage(8, "execute"),
    Stage(10, "settle", closing=True),
    Stage(11, "tell", closing=True),
)


class Pipeline:
    """Runs calls through the stages that ``runs`` has; a stage that it lacks is not in use."""

    def __init__(self, runs: Mapping[str, Run], report: Callable[[str, BaseException], None]) -> None:
        unknown = set(runs) - {stage.name for stage in STAGES}
        if unknown:
            raise ValueError(f"no such stage: {', '.join(sorted(unknown))}")
        self._entering = tuple(runs[stage.name] for stage in STAGES if stage.name in runs and not stage.closing)
        self._closing = tuple(runs[stage.name] for stage in STAGES if stage.name in runs and stage.closing)
        self._report = report

    def run(self, endpoint: str, request: Request, responder: Responder) -> None:
        """Take a call in. What a stage raises becomes the caller's answer."""
        exchange = Exchange(self.close, endpoint, request, responder)
        responder.listener = exchange
        self._enter(exchange, 0)

    def _enter(self, exchange: Exchange, begin: int) -> None:
        """Go through the entering stages from a place on, until one of them has the call wait."""
        try:
            for place in range(begin, len(self._entering)):
                if self._entering[place](exchange):
                    exchange.go_on = partial(self._enter, exchange, place + 1)
                    return
        except AntiphonError as error:
            exchange.fail(error)
        except Exception as error:  # the border of the process: one call's bug must not take others down
            self._report(exchange.id, error)
            if not exchange.closed:
                exchange.fail(InternalError())

    def close(self, exchange: Exchange) -> None:
        """Run the closing stages, each of them whatever became of the others."""
        for stage in self._closing:
            try:
                stage(exchange)
            except Exception as error:  # the border of the process: what one stage trips over must not cost the next its turn
                self._report(exchange.id, error)


def parse(exchange: Exchange) -> None:
    """Stage 2."""
    body = exchange.request.body
    encoding = exchange.request.header(b"content-encoding").strip().lower()
    if encoding not in (b"", b"identity"):
        name = encoding[:40].decode("latin-1")
        raise UnsupportedEncoding(f"the request body has the content-encoding {name}; bodies are not decompressed here")
    endpoint = ENDPOINTS[exchange.endpoint]
    if endpoint.forms and is_form(content_type := exchange.request.header(b"content-type")):
        exchange.call = _form_call(exchange, read_form(body, content_type), content_type)
        return
    head = wire.parse_head(body)
    drops = head.drop_unsupported
    stream = head.stream if head.stream is not None else endpoint.streams
    exchange.call = Call(
        exchange.id,
        exchange.endpoint,
        head.model,
        body if drops is None else wire.without_field(body, "drop_unsupported"),
        stream,
        head.wants_usage,
        exchange.dialect,
        exchange.principal,
        [],
        bool(drops),
        max_tokens=bound_of(head, exchange.endpoint),
        wishes=Wishes(session=key) if type(key := head.prompt_cache_key) is str and key else NO_WISHES,
        choices=head.choices,
    )


def parse_with_wishes(exchange: Exchange) -> None:
    """Stage 2, for a deployment that schedules: what the headers wish is read too."""
    wishes = wishes_of(exchange.request)
    parse(exchange)
    assert exchange.call is not None
    if wishes is not NO_WISHES:
        session = wishes.session or exchange.call.wishes.session
        exchange.call = msgspec.structs.replace(exchange.call, wishes=msgspec.structs.replace(wishes, session=session))


def together(first: Run, then: Run) -> Run:
    """Two that share a stage; only the second may have the call wait."""

    def run(exchange: Exchange) -> bool | None:
        first(exchange)
        return then(exchange)

    return run


def _form_call(exchange: Exchange, form: Form, content_type: bytes) -> Call:
    return Call(
        exchange.id,
        exchange.endpoint,
        form.model,
        exchange.request.body,
        form.stream,
        False,
        exchange.dialect,
        exchange.principal,
        [],
        content_type=content_type,
        model_place=(form.begin, form.end),
    )


def choose(directory: Directory, around: Mapping[str, Callable[[Model], Model]] = _NONE) -> Run:
    """Stage 6. ``around`` has what is put around a model for calls of an endpoint, by its name."""

    def run(exchange: Exchange) -> None:
        assert exchange.call is not None
        model = directory.model_for(exchange.call.model)
        put_around = around.get(exchange.endpoint)
        exchange.model = model if put_around is None else put_around(model)

    return run


def execute(exchange: Exchange) -> None:
    """Stage 8."""
    assert exchange.model is not None
    assert exchange.call is not None
    handle = exchange.model.start(exchange.call, exchange.sink or exchange)
    if exchange.closed:
        handle.cancel("the call is over")
    else:
        exchange.handle = handle


class InFlight:
    """Knows the calls under way."""

    def __init__(self) -> None:
        self._exchanges: set[Exchange] = set()

    @property
    def count(self) -> int:
        return len(self._exchanges)

    def reserve(self, exchange: Exchange) -> None:
        """Stage 3."""
        self._exchanges.add(exchange)

    def settle(self, exchange: Exchange) -> None:
        """Stage 10. A call that was refused before it took a place gives none back."""
        self._exchanges.discard(exchange)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(list(self._exchanges))

    def end(self) -> None:
        """End all calls under way: their callers hear that the server stops."""
        for exchange in list(self._exchanges):
            exchange.stop(Draining(remedy="try again", retry_after=1.0))


def tell(observer: Observer, client: Callable[[Request], str] | None = None) -> Run:
    """Stage 11. ``client`` finds the caller's address, for a deployment behind proxies that tell it."""

    def run(exchange: Exchange) -> None:
        call = exchange.call
        trail = call.trail if call is not None else ()
        duration = time.monotonic() - exchange.t0
        event = CallFinished(
            exchange.id,
            exchange.endpoint,
            call.model if call is not None else "",
            call.target if call is not None else "",
            exchange.principal.name,
            exchange.status,
            exchange.error_code,
            call.stream if call is not None else False,
            time.time() - duration,
            duration,
            exchange.first_at - exchange.t0 if exchange.first_at else 0.0,
            exchange.usage,
            len(trail),
        )
        if call is not None and call.routings:
            event = routed(event, call)
        if exchange.metered is not None and (exchange.cost or exchange.estimated):
            event = msgspec.structs.replace(event, cost=exchange.cost, estimated=exchange.estimated)
        who = exchange.principal
        if who.team or who.project or who.application or who.user:
            event = owned(event, who)
        if exchange.acts is not None and exchange.acts.counts:
            event = msgspec.structs.replace(event, guarded=exchange.acts.told())
        observer.call_finished(event if client is None else msgspec.structs.replace(event, client=client(exchange.request)))

    return run


def routed(event: CallFinished, call: Call) -> CallFinished:
    """The event with what routes decided."""
    first, last = call.routings[0], call.routings[-1]
    return msgspec.structs.replace(
        event,
        route=first.route,
        waited=last.waited,
        candidates=last.candidates,
        hedged=any(routing.hedged for routing in call.routings),
        degraded=call.degraded,
    )


def owned(event: CallFinished, who: Principal) -> CallFinished:
    """The event with whom the caller's key belongs to."""
    return msgspec.structs.replace(event, team=who.team, project=who.project, application=who.application, user=who.user)


def forwarded_for(request: Request) -> str:
    """The caller's address as the PROXY protocol told it."""
    return request.header(FORWARDED_FOR).decode("latin-1")
