"""GET /admin/routes."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.processes import ProcessState
from antiphon.gateway.admin.responses import JsonResponse
from antiphon.gateway.admin.sources import ControlSources


def scheduling(processes: Sequence[ProcessState]) -> str:
    """The process that schedules the calls of all workers: the coordinator, or the only worker."""
    return next((row.name for row in processes if row.role == "coordinator"), "worker-0")


def routes(sources: ControlSources) -> list[BaseRoute]:
    """The endpoint of this module."""

    async def states(_request: Request) -> Response:
        return JsonResponse(await sources.route_states(scheduling(sources.server().processes)))

    return [Route("/admin/routes", states)]
