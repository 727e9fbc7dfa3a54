"""Limits on what callers may use: which of them hold for a call, and what it reserves and settles at each."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from antiphon.core.ledger import MAX_AMOUNT, Hold, Limit, Window
from antiphon.core.types import Principal

Scope = Literal["everyone", "team", "project", "application", "user", "key", "model"]
Measure = Literal["requests", "tokens", "input_tokens", "output_tokens", "concurrency", "money"]

SCOPES: Final[tuple[Scope, ...]] = ("everyone", "team", "project", "application", "user", "key", "model")

MEASURES: Final[tuple[Measure, ...]] = ("requests", "tokens", "input_tokens", "output_tokens", "concurrency", "money")
"""What can be limited, in the order of a call's ``Amounts``."""
EACH: Final = "*"
"""Name of a rule that holds for each of its kind by itself."""
MAX_KNOWN: Final = 16_384
"""Names whose rules are remembered. One more, and all are found anew."""

Amounts = tuple[int, int, int, int, int, int]
"""What a call uses, in the order of ``MEASURES``: money in millionths of its unit."""

_MONEY: Final = MEASURES.index("money")


class Rule(msgspec.Struct, frozen=True):
    """One limit: of whom, on what, how much."""

    scope: Scope
    name: str
    """Of the team, key and so on; ``EACH`` for each of them by itself."""
    measure: Measure
    limit: Limit


class Applied(msgspec.Struct, frozen=True, gc=False):
    """A rule as it holds for somebody."""

    account: str
    place: int
    """Of the measure, in ``Amounts``."""
    limit: Limit
    rule: Rule
    name: str
    """Of whom it holds."""


class Limits:
    """All rules of a configuration. For one measure and window, a rule that names somebody goes before one for each of them."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._named: dict[tuple[Scope, str], list[Rule]] = {}
        for rule in rules:
            self._named.setdefault((rule.scope, rule.name), []).append(rule)
        self._of_callers: dict[str, tuple[Applied, ...]] = {}
        self._of_models: dict[str, tuple[Applied, ...]] = {}

    def applied(self, principal: Principal, model: str, names: Sequence[str] = ()) -> tuple[Applied, ...]:
        """The rules that hold for calls of a caller to a model, as callers name it, which may have further ``names``."""
        of_caller = self._of_callers.get(principal.name)
        if of_caller is None:
            _make_room(self._of_callers)
            of_caller = self._of_callers[principal.name] = self._of_caller(principal)
        of_model = self._of_models.get(model)
        if of_model is None:
            _make_room(self._of_models)
            every = dict.fromkeys((model, *names))
            of_model = self._of_models[model] = tuple(rule for name in every for rule in self._of("model", name))
        return of_caller + of_model if of_model else of_caller

    def rule(self, scope: Scope, name: str, measure: Measure, window: Window) -> Rule | None:
        """The rule that holds for somebody on something within some time."""
        own = (*self._named.get((scope, name), ()), *self._named.get((scope, EACH), ()))
        return next((rule for rule in own if rule.measure == measure and rule.limit.window == window), None)

    def _of_caller(self, principal: Principal) -> tuple[Applied, ...]:
        return (
            *self._of("everyone", ""),
            *self._of("team", principal.team),
            *self._of("project", principal.project),
            *self._of("application", principal.application),
            *self._of("user", principal.user),
            *self._of("key", principal.name),
        )

    def _of(self, scope: Scope, name: str) -> tuple[Applied, ...]:
        """The rules of one scope; a caller without a team is in no team, not in one without a name."""
        if not name and scope != "everyone":
            return ()
        own = self._named.get((scope, name), [])
        taken = {(rule.measure, rule.limit.window) for rule in own}
        each = [rule for rule in self._named.get((scope, EACH), []) if (rule.measure, rule.limit.window) not in taken]
        return tuple(Applied(account(rule, name), MEASURES.index(rule.measure), rule.limit, rule, name) for rule in (*own, *each))


def account(rule: Rule, name: str) -> str:
    """Name of the account in the ledger at which a rule is kept for somebody."""
    return f"{rule.scope}:{name}/{rule.measure}/{rule.limit.window.code}"


def parse_account(name: str) -> tuple[Scope, str, Measure] | None:
    """Of whom and on what an account is; None for one of somebody else's making."""
    whose, *rest = name.rsplit("/", 4)
    scope, colon, of = whose.partition(":")
    if not colon or len(rest) != 4 or scope not in SCOPES or rest[0] not in MEASURES:
        return None
    return scope, of, rest[0]


def holds(applied: Sequence[Applied], amounts: Amounts) -> list[Hold]:
    """What a call reserves that uses these amounts at most.

    An estimate of tokens is no reason to refuse a call for ever: it reserves all that a window has, and no more. Money is no
    estimate, but the most that a call can cost, so one that could cost more than its whole budget is refused.
    """
    found = []
    for each in applied:
        amount = amounts[each.place]
        if amount > each.limit.capacity and 0 < each.place < _MONEY:
            amount = max(each.limit.capacity, 1)
        found.append(Hold(each.account, min(amount, MAX_AMOUNT), each.limit))
    return found


def settled(applied: Sequence[Applied], amounts: Amounts) -> list[int]:
    """What is settled at the same accounts, in their order. A model that says it used more than can be counted used all of that."""
    return [min(amounts[each.place], MAX_AMOUNT) for each in applied]


def _make_room(known: dict[str, tuple[Applied, ...]]) -> None:
    if len(known) >= MAX_KNOWN:
        known.clear()
