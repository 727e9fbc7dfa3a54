"""The control plane's application."""

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from antiphon.core.ports import AuditTrail, RecordStore
from antiphon.gateway.admin import audit, calls, docs, limits, metrics, processes, routes, usage
from antiphon.gateway.admin.errors import HANDLERS
from antiphon.gateway.admin.sources import ControlSources


class _SafeHeaders:
    """Tells browsers not to guess content types and not to tell other sites where a reader came from."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
            await send(message)

        await self._app(scope, receive, sending)


def create_app(
    sources: ControlSources, records: RecordStore, trail: AuditTrail, *, patience: float = metrics.PATIENCE
) -> Starlette:
    """The application that serves ``sources``, ``records`` and ``trail``.

    A process that is silent for ``patience`` seconds counts as down.
    """
    app = Starlette(
        routes=[
            *docs.routes(),
            *metrics.routes(sources, patience),
            *processes.routes(sources),
            *routes.routes(sources),
            *limits.routes(sources),
            *calls.routes(records),
            *usage.routes(records),
            *audit.routes(trail),
        ],
        middleware=[Middleware(_SafeHeaders)],
        exception_handlers=dict(HANDLERS),
    )
    app.router.redirect_slashes = False  # the address that it would lead to is that of the socket between the processes
    return app
