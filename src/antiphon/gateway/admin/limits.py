"""GET /admin/limits: what was used of each limit."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from antiphon.core.errors import InvalidRequest, LimitsUnavailable, UpstreamError
from antiphon.core.ledger import AccountStanding, Window
from antiphon.gateway.admin.paging import page_size
from antiphon.gateway.admin.responses import JsonResponse
from antiphon.gateway.admin.sources import ControlSources
from antiphon.governance.limits import SCOPES, Limits, parse_account

MAX_LIMITS: Final = 1000
DEFAULT_LIMITS: Final = 100


class LimitState(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody may use of something, and has used. Money is in millionths of its unit."""

    id: str
    """Names it; ``after`` goes on behind it."""
    scope: str
    """``key``, ``team`` and so on."""
    name: str
    measure: str
    """``requests``, ``tokens``, ``input_tokens``, ``output_tokens``, ``concurrency`` or ``money``."""
    window: str
    """Kind of its time: ``sliding``, ``calendar``, ``month`` or ``none``."""
    seconds: int
    """Length of its time; 0 for months, and where it has none."""
    limit: int | None
    """None where the configuration has the limit no longer."""
    used: int
    reserved: int
    """By calls under way, as the most that they may use."""
    left: int | None
    resets_at: float | None
    """Unix time, seconds, at which counting begins anew; None where the time slides, and where there is none."""


class LimitList(msgspec.Struct, frozen=True):
    """Limits of which something is used, in the order of their ids. Those that nobody has used of late are not in it."""

    data: tuple[LimitState, ...]
    has_more: bool = False
    """There are more: ask again with ``after``."""
    object: str = "list"


def routes(sources: ControlSources) -> list[BaseRoute]:
    """The endpoint of this module."""

    async def limits(request: Request) -> Response:
        asked = request.query_params
        count = page_size(asked, DEFAULT_LIMITS, MAX_LIMITS)
        if asked.get("scope", "") not in ("", *SCOPES):
            raise InvalidRequest("`scope` is not known", remedy=f"known: {', '.join(SCOPES)}", param="scope")
        coordinator = next((row.name for row in sources.server().processes if row.role == "coordinator"), "")
        try:
            accounts = (await sources.accounts(coordinator)).accounts if coordinator else ()
        except UpstreamError:
            raise LimitsUnavailable("the coordinator, which keeps the accounts, does not answer") from None
        after, scope, name = asked.get("after", ""), asked.get("scope", ""), asked.get("name", "")
        found = (
            state
            for state in _states(accounts, sources.limits())
            if state.id > after and scope in ("", state.scope) and name in ("", state.name)
        )
        page: list[LimitState] = []
        for state in found:
            if len(page) == count:
                return JsonResponse(LimitList(tuple(page), has_more=True))
            page.append(state)
        return JsonResponse(LimitList(tuple(page)))

    return [Route("/admin/limits", limits)]


def _states(accounts: Iterable[AccountStanding], limits: Limits) -> Iterator[LimitState]:
    for account in accounts:
        parsed = parse_account(account.account)
        if parsed is None:
            continue
        scope, name, measure = parsed
        window = Window.parse(account.window)
        rule = limits.rule(scope, name, measure, window)
        capacity = rule.limit.capacity if rule is not None else None
        yield LimitState(
            id=account.account,
            scope=scope,
            name=name,
            measure=measure,
            window=window.kind,
            seconds=window.seconds,
            limit=capacity,
            used=account.settled,
            reserved=account.reserved,
            left=None if capacity is None else max(0, capacity - account.settled - account.reserved),
            resets_at=account.ends,
        )
