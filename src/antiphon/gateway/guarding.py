"""Guards calls: what callers say before a model is chosen, and what models say on its way back."""

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from antiphon.core.errors import GuardrailsUnavailable, PayloadTooLarge
from antiphon.core.types import Call, Principal
from antiphon.execution.wire.asked import asked as asked_in
from antiphon.execution.wire.asked import continues, read_request
from antiphon.execution.wire.endpoints import SPEECHES
from antiphon.execution.wire.openai.form import texts_of
from antiphon.execution.wire.said import Spot
from antiphon.gateway.exchange import Exchange
from antiphon.gateway.guarded import ON_THE_LOOP, Finder, Guarded, OutputRules, put
from antiphon.governance.guarding.masks import Masks
from antiphon.governance.guarding.rules import ALONE, Acts, Known, Rule, microseconds
from antiphon.governance.guarding.texts import InputGuard, TextCollector

_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz"
MOST_TEXT: Final = 2_000_000
"""Characters of a request that are looked at, at most: the loop is held up for a moment by each million."""
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

    ``names`` has all names of a model as callers name it, and raises ModelNotFound where there is none. What would take longer than
    ``ON_THE_LOOP`` is looked at by ``finder``.
    """

    def __init__(self, rules: Sequence[ScopedRule], names: Callable[[str], Sequence[str]], finder: Finder | None = None) -> None:
        self._rules = rules
        self._names = names
        self._finder = finder
        self._known: dict[tuple[str, str], tuple[Rule, ...]] = {}

    def look(self, exchange: Exchange) -> bool:
        """Stage 4, first: look at what the caller says. True where that is waited for.

        Raises InvalidRequest where what is said cannot be read.
        """
        call = exchange.call
        assert call is not None
        rules = self._of(call)
        if not rules:
            return False
        asked = exchange.asked = _Asked(call, rules)
        texts = asked.texts()
        if self._finder is None or microseconds(asked.rules, texts) <= ON_THE_LOOP:
            return False
        waits = False

        def then(known: Known | None) -> None:
            asked.looked(known, texts)
            if waits and not exchange.closed:
                exchange.go_on()

        self._finder.find(asked.rules, texts, then)
        waits = not asked.over
        return waits

    def guard(self, exchange: Exchange) -> None:
        """Stage 4, then: mask or block what was found, and see to it that the answer is guarded (stage 9).

        Raises ContentBlocked, and GuardrailsUnavailable where a long text could not be looked at.
        """
        asked, exchange.asked = exchange.asked, None
        if asked is None:
            return
        exchange.acts = asked.acts
        exchange.call = asked.guarded()
        behind = tuple(rule for rule in asked.every if rule.output)
        speech = SPEECHES.get(exchange.endpoint)
        if speech is not None and (behind or asked.masks):
            exchange.sink = Guarded(exchange, speech, OutputRules(behind, asked.masks, asked.acts, self._finder))

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


class _Asked:
    """What a caller says in one call."""

    def __init__(self, call: Call, every: tuple[Rule, ...]) -> None:
        self.every = every
        self.rules = [rule for rule in every if rule.input]
        """Those that look at it."""
        self.acts = Acts()
        self.over = False
        """It was looked at elsewhere, or could not be."""
        self._too_long = False
        self._call = call
        self._request: dict[str, Any] = {}
        self._spots: list[Spot] = []
        self._form: list[str] = []
        if self.rules and call.model_place is not None:
            # a form goes out as it came, so what would have to be masked there is blocked
            self.rules = [msgspec.structs.replace(rule, mode="block") if rule.mode == "mask" else rule for rule in self.rules]
            self._form = texts_of(call.body, call.content_type)
        elif self.rules:
            self._request = read_request(call.body)
            self._spots = list(asked_in(self._request))
        self.masks = Masks(call.body, _suffix() if continues(self._request) else "")
        self._guard = InputGuard(self.rules, self.masks, self.acts)

    def texts(self) -> list[str]:
        """All that is said."""
        collector = TextCollector()
        for spot in self._spots:
            put(collector, spot)
        texts = [*collector.texts, *self._form]
        if sum(map(len, texts)) > MOST_TEXT:
            raise PayloadTooLarge(
                f"the texts of this request have more than {MOST_TEXT} characters, the most that guardrails look at",
                remedy="send less",
            )
        return texts

    def looked(self, known: Known | None, texts: Sequence[str]) -> None:
        """It was looked at elsewhere; None where it could not be."""
        self.over = True
        self._guard.known = known or {}
        self._too_long = known is None and microseconds(self.rules, texts) > ALONE

    def guarded(self) -> Call:
        """The call as the model may see it; with the bytes of the caller where nothing had to be changed."""
        if self._too_long:
            raise GuardrailsUnavailable(
                "the text is long, and the process that looks at long texts is away or has too much to do", retry_after=1.0
            )
        for text in self._form:
            self._guard.text(text)
        changed = [put(self._guard, spot) for spot in self._spots]
        if not any(changed):
            return self._call
        return msgspec.structs.replace(
            self._call, body=json.dumps(self._request, ensure_ascii=False, separators=(",", ":")).encode()
        )


def _suffix() -> str:
    """What tells the placeholders of a call from those of the one that it goes on from."""
    return "".join(secrets.choice(_LETTERS) for _ in range(3))
