"""Decides who may do what, and remembers it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from antiphon.core.errors import PermissionDenied
from antiphon.core.types import Principal
from antiphon.governance.roles.policies import GRANTS

MAX_KNOWN: Final = 50_000
"""Decisions that are remembered."""


class Decider(Protocol):
    """Decides by policies."""

    def why_not(self, principal: Principal, roles: Sequence[str], function: str, model: str, within: str) -> str:
        """Why somebody may not do this with a model that was named ``within``, or with the server; empty where it may."""


class TableDecider:
    """Decides by the built-in roles alone, without Cedar, which takes some 13 MB of each worker."""

    def why_not(self, principal: Principal, roles: Sequence[str], function: str, model: str, within: str) -> str:
        """Why not; empty where one of the roles may."""
        return "" if any(function in GRANTS.get(role, ()) for role in roles) else "no policy permits it"


class Rights:
    """What callers may do.

    ``names`` has the models that a name leads to, and raises ModelNotFound for one that leads nowhere. A caller whose key has no
    role has the ``default`` ones.
    """

    def __init__(self, decider: Decider, default: Sequence[str], names: Callable[[str], Sequence[str]]) -> None:
        self._decider = decider
        self._default = tuple(default)
        self._names = names
        self._known: dict[tuple[str, str, str], str] = {}
        """Why not, by caller, function and model."""

    def check_model(self, principal: Principal, function: str, model: str) -> None:
        """Raises PermissionDenied unless a caller may do this with every model that a name leads to, and ModelNotFound."""
        why = self._why_not(principal, function, model)
        if why:
            raise PermissionDenied(f'the key "{principal.name}" may not use the model "{model[:200]}" for {function}: {why}')

    def may_see(self, principal: Principal, model: str) -> bool:
        """Whether a model stands in a caller's list."""
        return not self._why_not(principal, "see_model", model)

    def check(self, principal: Principal, function: str) -> None:
        """Raises PermissionDenied unless a caller may do this with the server."""
        why = self._why_not(principal, function, "")
        if why:
            raise PermissionDenied(f'the key "{principal.name}" may not {function.replace("_", " ")}: {why}')

    def _why_not(self, principal: Principal, function: str, model: str) -> str:
        key = principal.name, function, model
        why = self._known.get(key)
        if why is None:
            names = self._names(model) if model else ("",)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            why = self._known[key] = _not_listed(principal, model, names) or self._first(principal, function, model, names)
        return why

    def _first(self, principal: Principal, function: str, model: str, names: Iterable[str]) -> str:
        """Why a caller may not do this with the first of the models with which it may not."""
        roles = principal.roles or self._default
        for name in names:
            if why := self._decider.why_not(principal, roles, function, name, model):
                return f"{why} (roles: {', '.join(roles) or 'none'})"
        return ""


def _not_listed(principal: Principal, model: str, names: Sequence[str]) -> str:
    """Why a key for certain models is not for this one; empty where it is for it, or for all."""
    listed = principal.models
    if not listed or not model or model in listed or all(name in listed for name in names):
        return ""
    return f"it is for {', '.join(listed)} only"
