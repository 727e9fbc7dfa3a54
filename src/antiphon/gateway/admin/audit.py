"""GET /admin/audit: the audit trail, searched."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.audit import AuditEntry, AuditQuery
from antiphon.core.errors import InvalidRequest
from antiphon.core.ports import AuditTrail
from antiphon.gateway.admin.paging import page_size
from antiphon.gateway.admin.responses import JsonResponse
from antiphon.gateway.admin.usage import moment

MAX_RECORDS: Final = 1000
DEFAULT_RECORDS: Final = 100


class AuditList(msgspec.Struct, frozen=True):
    """Records of the audit trail, latest first."""

    data: tuple[AuditEntry, ...]
    has_more: bool = False
    """There are more: ask again with ``after`` the last one's ``chain/number``."""
    object: str = "list"


def routes(trail: AuditTrail) -> list[BaseRoute]:
    """The endpoint of this module."""

    async def audit(request: Request) -> Response:
        asked = request.query_params
        count = page_size(asked, DEFAULT_RECORDS, MAX_RECORDS)
        found = await asyncio.to_thread(trail.search, audit_query(asked), count + 1)
        return JsonResponse(AuditList(tuple(found[:count]), has_more=len(found) > count))

    return [Route("/admin/audit", audit)]


def audit_query(asked: Mapping[str, str]) -> AuditQuery:
    """The query that parameters of a URL, or options of a command, ask for. Raises InvalidRequest naming the one at fault."""
    status = asked.get("status", "") or "0"
    if not status.isdecimal() or len(status) > 3:
        raise InvalidRequest("`status` is no HTTP status", remedy="give a number like 200", param="status")
    texts = {name: asked.get(name, "") for name in ("key", "user", "model", "id", "kind", "after")}
    since, until = (moment(asked.get(name, ""), name) for name in ("since", "until"))
    return AuditQuery(since=since, until=until, status=int(status), **texts)
