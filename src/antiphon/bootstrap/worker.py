"""Starts a data-plane worker: ``python -m antiphon.bootstrap.worker``, by the supervisor."""

import asyncio
import gc
import logging
import socket
import sys
from pathlib import Path

import msgspec

from antiphon.bootstrap.data_plane import DataPlane
from antiphon.bootstrap.process import Child, run, socket_path
from antiphon.config import Settings
from antiphon.gateway import app
from antiphon.observability.call_log import CallLog, DescriptorSink
from antiphon.observability.events.batch import Batch
from antiphon.observability.events.delivery import HttpSink
from antiphon.observability.events.pipe import EventPipe
from antiphon.observability.metrics import CallMetrics
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin
from antiphon.transport.deadlines import DeadlineWheel
from antiphon.transport.listeners import unix_listener
from antiphon.transport.server import Handler, HttpServer, Request, Responder, ServerLimits

EVENT_TIMEOUTS = ClientTimeouts(connect=1.0, first_byte=5.0, idle=5.0)
"""Patience with the control plane, s; what it does not take meanwhile goes to the disk."""

GC_THRESHOLD = 50_000
"""Allocations between looks of the cycle collector: calls leave no cycles, and a look costs more the more connections there are."""

log = logging.getLogger(__name__)


async def main(child: Child) -> None:
    """Serve until asked to stop, then let running calls finish."""
    spec, server_settings = child.spec, child.spec.settings.server
    metrics = CallMetrics(_names(spec.settings))
    call_log = CallLog(DescriptorSink(sys.stderr.fileno())) if server_settings.log_calls else None
    wheel = DeadlineWheel(asyncio.get_running_loop())
    control = ClientPool(Origin(socket_path=socket_path(spec.run_dir, "control")), EVENT_TIMEOUTS, wheel=wheel)
    events = EventPipe(HttpSink(control), Path(spec.settings.data_dir) / "events", max_bytes=server_settings.event_spill_mb << 20)
    finished = Batch([metrics, events, *([call_log] if call_log is not None else [])], wheel)
    data_plane = DataPlane(spec.settings, spec.run_dir, wheel, finished)
    limits = ServerLimits(
        max_body_bytes=server_settings.max_body_mb << 20,
        header_timeout=server_settings.header_timeout,
        keep_alive=server_settings.keep_alive,
    )
    server = HttpServer(data_plane.app, limits, app.refuse)
    stats = HttpServer(_stats(finished, metrics, call_log, events, data_plane))
    await stats.listen(unix_listener(socket_path(spec.run_dir, spec.name)))
    for fd in spec.listen_fds:
        await server.listen(socket.socket(fileno=fd))
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    child.ready()
    await child.stopping.wait()
    await server.drain(server_settings.grace)
    await stats.close()
    await data_plane.close()
    finished.flush()
    await events.close()
    await control.close()
    if call_log is not None:
        call_log.close()


def _names(settings: Settings) -> set[str]:
    """Every name that a caller may use; others are counted as one, so that callers cannot fill the memory with names."""
    served = {model.name for row in settings.providers for model in row.models} | {model.name for model in settings.models}
    return served | set(settings.aliases) | {settings.embeddings.name}


def _stats(finished: Batch, metrics: CallMetrics, call_log: CallLog | None, events: EventPipe, data_plane: DataPlane) -> Handler:
    """Handler of the private socket: the counters, for the control plane."""
    encode = msgspec.json.Encoder().encode

    def handle(_: Request, responder: Responder) -> None:
        finished.flush()
        snapshot = metrics.snapshot(
            in_flight=data_plane.in_flight.count,
            call_log_lost=call_log.lost if call_log is not None else 0,
            events=events.report(),
        )
        responder.send(200, ((b"content-type", b"application/json"),), encode(snapshot))

    return handle


if __name__ == "__main__":
    sys.exit(run(main))
