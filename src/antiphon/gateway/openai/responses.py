"""What was kept of responses: GET and DELETE /v1/responses/{id}, and below it GET input_items and POST cancel."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qs, unquote

import msgspec

from antiphon.core.errors import NOT_KEPT, AntiphonError, EndpointNotFound, InvalidRequest, MethodNotAllowed, NotFound
from antiphon.core.response_store import ResponseStore, StoredResponse
from antiphon.core.types import Principal
from antiphon.execution.wire.responses import conversation
from antiphon.gateway import errors
from antiphon.gateway.exchange import request_id
from antiphon.transport.server import Request, Responder

PREFIX = "/v1/responses/"
_JSON = ((b"content-type", b"application/json"),)
_NOT_SERVED = ("compact",)
"""What OpenAI has below this path and no other server has a like of."""
PAGE, MAX_PAGE = 20, 100
"""Items that a page has unless the caller says otherwise, and at most."""
_encode = msgspec.json.Encoder().encode


class DeletedResponse(msgspec.Struct, frozen=True):
    """The answer to a DELETE."""

    id: str
    object: str = "response"
    deleted: bool = True


class Responses:
    """Serves what was kept. Without a store nothing was."""

    def __init__(self, store: ResponseStore | None) -> None:
        self._store = store

    def __call__(self, request: Request, responder: Responder, principal: Principal) -> None:
        """Answer a request below ``PREFIX``. Raises AntiphonError where it can be told at once that it is wrong."""
        name, _, rest = unquote(request.path[len(PREFIX) :]).partition("/")
        action = f"{request.method} {rest}".strip().replace("HEAD", "GET")
        if name in _NOT_SERVED or rest not in ("", "input_items", "cancel"):
            raise EndpointNotFound(
                f'there is no endpoint "{request.path[:200]}"',
                remedy="known: POST /v1/responses, POST /v1/responses/input_tokens, GET and DELETE /v1/responses/{id}, "
                "GET /v1/responses/{id}/input_items",
            )
        call = _Call(self._store, name, request, responder, principal)
        match action:
            case "GET":
                call.show()
            case "DELETE":
                call.delete()
            case "GET input_items":
                call.list_input()
            case "POST cancel":
                call.cancel()
            case _:
                right = {"": "GET or DELETE", "input_items": "GET", "cancel": "POST"}[rest]
                raise MethodNotAllowed(f"{request.path[:200]} does not take {request.method[:20]}", remedy=f"use {right}")


class _Call:
    """One request about a response that was kept."""

    def __init__(
        self, store: ResponseStore | None, name: str, request: Request, responder: Responder, principal: Principal
    ) -> None:
        self._name = name
        self._request = request
        self._responder = responder
        self._tenant = principal.name
        if store is None:
            raise self._not_found()
        self._store = store

    def show(self) -> None:
        """GET /v1/responses/{id}."""
        query = parse_qs(self._request.query)
        for field in ("stream", "starting_after"):
            if query.get(field, ["false"]) not in (["false"], ["null"]):
                raise InvalidRequest(
                    f"`{field}` is for answers that are given in the background, and this one was complete at once",
                    remedy="leave it out",
                    param=field,
                )
        self._find(lambda found: self._responder.send(200, _JSON, found.response))

    def cancel(self) -> None:
        """POST /v1/responses/{id}/cancel: nothing here runs in the background."""

        def refuse(_: StoredResponse) -> None:
            self._refuse(
                InvalidRequest(
                    "only a response that was asked for with `background` can be cancelled",
                    remedy="close the connection of a call to cancel it",
                    param="response_id",
                )
            )

        self._find(refuse)

    def delete(self) -> None:
        """DELETE /v1/responses/{id}."""

        def told(deleted: bool | AntiphonError) -> None:
            if isinstance(deleted, AntiphonError):
                self._refuse(deleted)
            elif deleted:
                self._responder.send(200, _JSON, _encode(DeletedResponse(self._name)))
            else:
                self._refuse(self._not_found())

        self._store.delete(self._tenant, self._name, told)

    def list_input(self) -> None:
        """GET /v1/responses/{id}/input_items: all that the model was shown, what was continued among it; latest first."""
        query = {name: values[-1] for name, values in parse_qs(self._request.query).items()}
        limit, order = query.get("limit", str(PAGE)), query.get("order", "desc")
        if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= MAX_PAGE:
            raise InvalidRequest(f'`limit` is "{limit[:50]}"', remedy=f"give a number from 1 to {MAX_PAGE}", param="limit")
        if order not in ("asc", "desc"):
            raise InvalidRequest(f'`order` is "{order[:50]}"', remedy="give asc or desc", param="order")

        def told(turns: Sequence[StoredResponse] | AntiphonError) -> None:
            try:
                items = _shown(turns)
                page = conversation.page(items, after=query.get("after", ""), limit=int(limit), latest_first=order == "desc")
            except AntiphonError as error:
                self._refuse(error)
                return
            self._responder.send(200, _JSON, page)

        self._find(lambda found: self._store.conversation(self._tenant, found.id, told))

    def _find(self, then: Callable[[StoredResponse], None]) -> None:
        def told(found: Mapping[str, StoredResponse] | AntiphonError) -> None:
            if isinstance(found, AntiphonError):
                self._refuse(found)
            elif self._name in found:
                then(found[self._name])
            else:
                self._refuse(self._not_found())

        self._store.find(self._tenant, (self._name,), told)

    def _refuse(self, error: AntiphonError) -> None:
        errors.refuse(self._responder, error, request_id(self._request))

    def _not_found(self) -> NotFound:
        return NotFound(
            f"response with id '{self._name[:200]}' not found: {NOT_KEPT}",
            remedy="ask the server that keeps it, where its model's server speaks this dialect itself",
            param="response_id",
        )


def _shown(turns: Sequence[StoredResponse] | AntiphonError) -> list[msgspec.Raw]:
    """What the model was shown for the last response: all but its own answer. Raises what the store has told in its place."""
    if isinstance(turns, AntiphonError):
        raise turns
    kept = [conversation.asked_and_answered(turn.input, turn.response) for turn in turns]
    items = [item for asked, answered in kept for item in (*asked, *answered)]
    return items[: len(items) - len(kept[-1][1])]
