"""GET /admin/routes."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.gateway.admin.responses import JsonResponse
from antiphon.gateway.admin.sources import ControlSources


def routes(sources: ControlSources) -> list[BaseRoute]:
    """The endpoint of this module."""

    async def states(_request: Request) -> Response:
        roles = [row.name for row in sources.server().processes if row.role == "coordinator"]
        return JsonResponse(await sources.route_states(roles[0] if roles else "worker-0"))

    return [Route("/admin/routes", states)]
