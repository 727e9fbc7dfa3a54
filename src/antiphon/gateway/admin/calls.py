"""GET /admin/calls, and where the workers' events arrive."""

import asyncio
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.events import CallFinished, EventBundle
from antiphon.core.ports import RecordStore
from antiphon.gateway.admin.paging import page_size
from antiphon.gateway.admin.responses import JsonResponse
from antiphon.observability.events.delivery import PATH, Arrivals

MAX_CALLS: Final = 1000
DEFAULT_CALLS: Final = 100

_decode = msgspec.msgpack.Decoder(EventBundle).decode


class CallList(msgspec.Struct, frozen=True):
    """Calls that have ended, latest first."""

    data: tuple[CallFinished, ...]
    object: str = "list"


def routes(records: RecordStore) -> list[BaseRoute]:
    """The endpoints of this module."""
    arrivals = Arrivals()
    one_at_a_time = asyncio.Lock()

    async def arrive(request: Request) -> Response:
        try:
            bundle = _decode(await request.body())
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Response(status_code=204)  # nobody will ever read it better; sent again it would block what comes behind it
        async with one_at_a_time:
            if not arrivals.seen(bundle.instance, bundle.number):
                await asyncio.to_thread(records.add, bundle.events, f"{bundle.instance}/{bundle.number}")
                arrivals.mark(bundle.instance, bundle.number)
        return Response(status_code=204)

    async def calls(request: Request) -> Response:
        limit = page_size(request.query_params, DEFAULT_CALLS, MAX_CALLS)
        found = await asyncio.to_thread(records.recent, limit, request.query_params.get("model", ""))
        return JsonResponse(CallList(tuple(found)))

    return [Route(PATH, arrive, methods=["POST"]), Route("/admin/calls", calls)]
