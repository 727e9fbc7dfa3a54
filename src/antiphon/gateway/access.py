"""Who calls, and what that caller may do."""

import json
from collections.abc import Callable
from typing import Final

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import Principal
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.gateway.exchange import Exchange
from antiphon.gateway.keys import KeyRing
from antiphon.governance.roles.functions import function_at
from antiphon.governance.roles.rights import Rights
from antiphon.transport.server import Request

_MODEL: Final = b'"model"'
_ESCAPED: Final = b"\\u006"
"""How letters of that name begin where they are escaped, which nobody does who means well."""


class Access:
    """Knows the keys, and the rights of their callers. Without keys everybody may do everything: then there are no rights."""

    def __init__(self, keys: KeyRing, rights: Rights | None) -> None:
        self._keys = keys
        self._rights = rights

    def principal(self, request: Request) -> Principal:
        """Who asks. Raises Unauthenticated."""
        return self._keys.principal(shown_key(request))

    def sees(self, request: Request) -> Callable[[str], bool]:
        """Which models whoever asks may see, by their names. Raises Unauthenticated."""
        principal, rights = self.principal(request), self._rights
        return (lambda model: rights.may_see(principal, model)) if rights is not None else lambda _: True

    def administer(self, request: Request, path: str) -> None:
        """Raises Unauthenticated, and PermissionDenied where whoever asks may not do what is done at a path below ``/admin``."""
        principal = self.principal(request)
        if self._rights is not None:
            self._rights.check(principal, function_at(request.method, path))

    def identify(self, exchange: Exchange) -> None:
        """Stage 1, for a deployment with keys."""
        exchange.principal = self.principal(exchange.request)

    def authorise(self, exchange: Exchange) -> None:
        """Part of stage 2, for a deployment with keys: whether the caller may do this with the model that it names."""
        call = exchange.call
        assert call is not None
        if call.model_place is None and names_twice(call.body):
            raise InvalidRequest("the field `model` stands there twice", remedy="leave one of them out", param="model")
        if self._rights is not None:
            self._rights.check_model(call.principal, ENDPOINTS[call.endpoint].ability, call.model)


def names_twice(body: bytes) -> bool:
    """Whether a request names two models, of which a server may read the other one than was permitted."""
    if body.count(_MODEL) < 2 and _ESCAPED not in body:
        return False
    pairs: list[tuple[str, object]] = json.loads(body, object_pairs_hook=list)  # the outermost object comes as its pairs
    return sum(name == "model" for name, _ in pairs) > 1


def shown_key(request: Request) -> bytes:
    """The caller's key as an ``authorization`` header: clients of Anthropic's dialect send it as ``x-api-key``."""
    authorization = request.header(b"authorization")
    if not authorization and (key := request.header(b"x-api-key")):
        return b"Bearer " + key
    return authorization
