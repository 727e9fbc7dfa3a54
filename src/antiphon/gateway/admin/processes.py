"""GET /health and GET /admin/processes."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon import __version__
from antiphon.gateway.admin.responses import JsonResponse
from antiphon.gateway.admin.sources import ControlSources


class Health(msgspec.Struct, frozen=True):
    """The control plane runs."""

    status: str = "ok"
    version: str = __version__


def routes(sources: ControlSources) -> list[BaseRoute]:
    """The endpoints of this module."""

    async def health(_request: Request) -> Response:
        return JsonResponse(Health())

    async def processes(_request: Request) -> Response:
        return JsonResponse(sources.server())

    return [Route("/health", health), Route("/admin/processes", processes)]
