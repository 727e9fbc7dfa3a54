"""Guards calls: what callers say before a model is chosen, and what models say on its way back."""

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from antiphon.core.types import Call, Principal
from antiphon.execution.wire.asked import asked
from antiphon.execution.wire.endpoints import SPEECHES
from antiphon.execution.wire.openai.form import texts_of
from antiphon.gateway.exchange import Exchange
from antiphon.gateway.guarded import Guarded
from antiphon.governance.guarding.masks import Masks
from antiphon.governance.guarding.rules import Acts, Rule
from antiphon.governance.guarding.texts import InputGuard, changed_leaves

_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz"
_CONTINUES: Final = b'"previous_response_id"'
MAX_KNOWN: Final = 10_000
"""Callers and models of which it is remembered which guardrails are theirs."""


class ScopedRule(msgspec.Struct, frozen=True):
    """A rule, and whose calls it holds for: where a list is empty, for all."""

    rule: Rule
    keys: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    applications: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def holds(self, principal: Principal, names: Sequence[str]) -> bool:
        """Whether it holds for a caller's calls to a model that has these names."""
        return (
            (not self.keys or principal.name in self.keys)
            and (not self.teams or principal.team in self.teams)
            and (not self.applications or principal.application in self.applications)
            and (not self.models or any(name in self.models for name in names))
        )


class Guarding:
    """Stages 4 and 9 for a deployment with guardrails.

    ``names`` has all names of a model as callers name it, and raises ModelNotFound where there is none.
    """

    def __init__(self, rules: Sequence[ScopedRule], names: Callable[[str], Sequence[str]]) -> None:
        self._rules = rules
        self._names = names
        self._known: dict[tuple[str, str], tuple[Rule, ...]] = {}

    def guard(self, exchange: Exchange) -> None:
        """Stage 4: look at what the caller says, mask what must be masked, and see to it that the answer is guarded (stage 9).

        Raises ContentBlocked, and InvalidRequest where what is said cannot be read.
        """
        call = exchange.call
        assert call is not None
        rules = self._of(call)
        if not rules:
            return
        acts = exchange.acts = Acts()
        masks = _masks(call.body)
        if before := [rule for rule in rules if rule.input]:
            if call.model_place is not None:
                _guard_form(call, before, masks, acts)
            else:
                exchange.call = _guard_body(call, InputGuard(before, masks, acts))
        behind = tuple(rule for rule in rules if rule.output)
        speech = SPEECHES.get(call.endpoint)
        if speech is not None and (behind or masks):
            exchange.sink = Guarded(exchange, speech, behind, masks, acts)

    def _of(self, call: Call) -> tuple[Rule, ...]:
        """The rules that hold for a call."""
        key = call.principal.name, call.model
        rules = self._known.get(key)
        if rules is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            names = tuple(dict.fromkeys((call.model, *self._names(call.model))))
            rules = self._known[key] = tuple(each.rule for each in self._rules if each.holds(call.principal, names))
        return rules


def _guard_body(call: Call, guard: InputGuard) -> Call:
    """A call as the model may see it; with the bytes of the caller where nothing had to be changed."""
    request: dict[str, Any] = json.loads(call.body)
    changed = False
    for spot in list(asked(request)):
        before = spot.holder[spot.key]
        if spot.form == "tree":
            after = changed_leaves(before, guard.text)
        else:
            after = guard.json(before) if spot.form == "json" else guard.text(before)
        if after != before:
            spot.holder[spot.key] = after
            changed = True
    if not changed:
        return call
    return msgspec.structs.replace(call, body=json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode())


def _guard_form(call: Call, rules: Sequence[Rule], masks: Masks, acts: Acts) -> None:
    """Look at the texts of a form, which goes out as it came: what would have to be masked there is blocked."""
    strict = [msgspec.structs.replace(rule, mode="block") if rule.mode == "mask" else rule for rule in rules]
    guard = InputGuard(strict, masks, acts)
    for text in texts_of(call.body, call.content_type):
        guard.text(text)


def _masks(body: bytes) -> Masks:
    """The placeholders of a call. Where it continues another one, whose texts have their own, these are told apart."""
    continues = _CONTINUES in body
    suffix = "".join(secrets.choice(_LETTERS) for _ in range(3)) if continues else ""
    return Masks(body, suffix)
