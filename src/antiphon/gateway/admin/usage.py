"""GET /admin/usage: what callers have used and spent, by whatever it is asked for."""

import asyncio
import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.errors import InvalidRequest
from antiphon.core.moments import HOW, parse_moment
from antiphon.core.ports import RecordStore
from antiphon.core.spreadsheet import harmless
from antiphon.core.usage import DIMENSIONS, MAX_ROWS, Dimension, UsageQuery, UsageRow
from antiphon.gateway.admin.responses import JsonResponse

COUNTS: Final = tuple(name for name in UsageRow.__struct_fields__ if name != "group")


class UsageList(msgspec.Struct, frozen=True):
    """What calls used together. Money is in millionths of its unit."""

    data: tuple[UsageRow, ...]
    truncated: bool = False
    """There are more rows than are told: ask for a shorter time, or for less detail."""
    object: str = "list"


def routes(records: RecordStore) -> list[BaseRoute]:
    """The endpoint of this module."""

    async def usage(request: Request) -> Response:
        query = usage_query(request.query_params)
        wanted = request.query_params.get("format", "json")
        if wanted not in ("json", "csv"):
            raise InvalidRequest("`format` is not known", remedy='give "json" or "csv"', param="format")
        rows = await asyncio.to_thread(records.usage, query)
        if wanted == "csv":
            return Response(as_csv(query.by, rows), media_type="text/csv", headers={"cache-control": "no-store"})
        return JsonResponse(UsageList(tuple(rows), truncated=len(rows) >= MAX_ROWS))

    return [Route("/admin/usage", usage)]


def usage_query(asked: Mapping[str, str]) -> UsageQuery:
    """The query that parameters of a URL, or options of a command, ask for. Raises InvalidRequest naming the one at fault."""
    by: list[Dimension] = []
    for name in filter(None, asked.get("by", "").split(",")):
        dimension = next((known for known in DIMENSIONS if known == name), None)
        if dimension is None or dimension in by:
            what = f'`by` names "{name[:40]}", ' + ("which is not known" if dimension is None else "twice")
            raise InvalidRequest(what, remedy=f"known: {', '.join(DIMENSIONS)}", param="by")
        by.append(dimension)
    only = {dimension: asked[dimension] for dimension in DIMENSIONS if dimension in asked}
    return UsageQuery(tuple(by), moment(asked.get("since", ""), "since"), moment(asked.get("until", ""), "until"), only)


def moment(text: str, name: str) -> float:
    """Unix time of the moment that a parameter gives; 0 for nothing. Raises InvalidRequest."""
    try:
        return parse_moment(text) if text else 0.0
    except ValueError:
        raise InvalidRequest(f"`{name}` is no time", remedy=f"give {HOW}", param=name) from None


def as_csv(by: Sequence[Dimension], rows: Sequence[UsageRow]) -> str:
    """Rows as comma-separated values, with a head (RFC 4180). Names that a spreadsheet takes for a formula get an apostrophe."""
    written = io.StringIO()
    lines = csv.writer(written)
    lines.writerow((*by, *COUNTS))
    lines.writerows((*(harmless(row.group[each]) for each in by), *(getattr(row, name) for name in COUNTS)) for row in rows)
    return written.getvalue()
