"""The port to listen on, and a server that runs already."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from antiphon.bootstrap.address import own_url
from antiphon.bootstrap.doctor.asking import PATIENCE, Answer, ask
from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.bootstrap.own_trust import untrusted
from antiphon.bootstrap.run_folders import RunFolder, server_on
from antiphon.config import ServerSettings
from antiphon.core.errors import AntiphonError, ConfigError, NoWorker, PortBusy, UpstreamTimeout
from antiphon.core.processes import ServerState
from antiphon.transport.client import Origin, Route
from antiphon.transport.holders import holder_of
from antiphon.transport.listeners import tcp_listener
from antiphon.transport.tls import TlsOptions

_UNVERIFIED = Route(TlsOptions(verify=False))
"""This machine is asked who it is; its certificate is for the name that others call it by."""


class _Health(msgspec.Struct):
    status: str
    version: str


class _Ready(msgspec.Struct):
    status: str = ""
    parts: dict[str, str] = {}


def port(subject: Subject) -> Iterator[Finding]:
    """Whether the port is free, or else who holds it."""
    server = subject.settings.server
    try:
        tcp_listener(server.host, server.port).close()
    except PortBusy as error:
        yield from _held(server, error)
    else:
        free = f"port {server.port} on {server.host} is free" if server.port else "the server takes a free port when it starts"
        yield Finding("port", "ok", free)


def server(subject: Subject) -> Iterator[Finding]:
    """The server at the URL that was given."""
    parts = urlsplit(subject.url if "://" in subject.url else f"http://{subject.url}")
    try:
        origin = Origin.parse(parts.geturl())
    except (ConfigError, ValueError):
        what = f'"{subject.url}" is not the URL of a server'
        yield Finding("server", "error", what, "give one like http://127.0.0.1:8080")
        return
    base = parts.path.rstrip("/").removesuffix("/v1")
    try:
        answer = ask(origin, f"{base}/health")
        health = _health(answer)
        if health is None and answer.status == 503 and NoWorker.code.encode() in answer.body:
            what = f"the server at {origin} has no worker that can be started, and answers every caller 503"
            yield Finding("server", "error", what, 'see its log, or ask "antiphon doctor" on its machine')
        elif health is None:
            yield Finding("server", "error", f"what answers at {origin} is not an Antiphon server", "correct --url")
        else:
            yield _readiness(f"Antiphon {health.version} at {origin}", ask(origin, f"{base}/ready"))
    except AntiphonError as error:
        yield _unanswered(origin, error)


def _unanswered(origin: Origin, error: AntiphonError) -> Finding:
    if distrust := untrusted(error.__cause__):
        words, remedy = distrust
        return Finding("server", "error", f"the server at {origin} cannot be talked to safely: {words}", remedy)
    if isinstance(error, UpstreamTimeout):
        remedy = "it is stopped (kill -CONT goes on with it) or hangs: see its log, or start it again"
        return Finding("server", "error", f"the server at {origin} takes connections and says nothing for {PATIENCE:g} s", remedy)
    return Finding("server", "error", error.message, 'start one with "antiphon serve", or correct --url')


def running(server: ServerSettings) -> RunFolder | None:
    """The server of this user that has the port of these settings."""
    return server_on(server.port)


def _held(server: ServerSettings, error: PortBusy) -> Iterator[Finding]:
    holder = holder_of(server.port)
    origin = Origin.parse(own_url(server))
    folder = running(server)
    known = folder.state if folder else None
    # it answers its load balancers alone, or can answer nobody
    if known is not None and (server.proxy_protocol != "none" or _without_workers(known)):
        yield _state(f"port {server.port} on {server.host} is held by a running Antiphon (pid {known.pid})", known)
        return
    try:
        health = _health(ask(origin, "/health", _UNVERIFIED))
    except AntiphonError as problem:  # whoever it is, it does not speak HTTP, or it is stopped
        health = None
        if known is not None and isinstance(problem, UpstreamTimeout):
            what = f"{error.message} by a running Antiphon (pid {known.pid}), which says nothing for {PATIENCE:g} s"
            yield Finding("port", "error", what, "it is stopped (kill -CONT goes on with it) or hangs: see its log")
            return
    if health is None:
        by = f" by {holder}" if holder else ", by whom cannot be seen"
        yield Finding("port", "error", f"{error.message}{by}", "stop that program, or set server.port to another")
        return
    by = f" (pid {known.pid})" if known else f" ({holder})" if holder else ""
    name = f"port {server.port} on {server.host} is held by a running Antiphon {health.version}{by}"
    if known is None:
        yield _readiness(name, ask(origin, "/ready", _UNVERIFIED), check="port")
    else:
        yield _state(name, known)


def _state(name: str, state: ServerState) -> Finding:
    bad = [process for process in state.processes if process.state not in ("ready", "draining")]
    if state.reload_error:
        return Finding("port", "warning", f"{name}; it refused its new settings: {state.reload_error}", "correct them, then SIGHUP")
    if bad:
        told = "; ".join(f"{process.name} is {process.state}{f': {process.error}' if process.error else ''}" for process in bad)
        if state.serving and _without_workers(state):
            return Finding("port", "error", f"{name}, which answers every caller 503; {told}", "mend that, then send it SIGHUP")
        return Finding("port", "warning" if state.serving else "ok", f"{name}; {told}", "see its log" if state.serving else "")
    restarts = sum(process.restarts for process in state.processes)
    again = f", restarted {restarts} time(s)" if restarts else ""
    return Finding("port", "ok", f"{name}; all {len(state.processes)} processes are ready{again}")


def _without_workers(state: ServerState) -> bool:
    workers = [process.state for process in state.processes if process.role == "worker"]
    return bool(workers) and all(state in ("waiting", "stopped") for state in workers)


def _readiness(name: str, answer: Answer, check: str = "server") -> Finding:
    try:
        parts = msgspec.json.decode(answer.body, type=_Ready).parts
    except msgspec.MsgspecError:
        parts = {}
    if answer.status == 200:
        return Finding(check, "ok", f"{name} is ready: {', '.join(parts) or 'no parts'}")
    told = ", ".join(f"{part} is {said}" for part, said in parts.items() if said != "ok")
    return Finding(check, "warning", f"{name} is not ready: {told or f'status {answer.status}'}", "wait, or see its log")


def _health(answer: Answer) -> _Health | None:
    try:
        return msgspec.json.decode(answer.body, type=_Health) if answer.status == 200 else None
    except msgspec.MsgspecError:
        return None
