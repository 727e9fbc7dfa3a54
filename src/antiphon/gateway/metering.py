"""Reserves what a call may use at most before it runs, and settles what it has used."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from antiphon.core.errors import AntiphonError, BudgetSpent, ClientGone, ContentBlocked, LimitReached, LimitsUnavailable
from antiphon.core.ledger import Ledger, Outcome, Refusal, Window
from antiphon.core.types import Call, Usage
from antiphon.execution.wire.bounds import BOUNDABLE, answers_of, bounded
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.gateway.exchange import NO_USAGE, Exchange
from antiphon.gateway.metered import Metered
from antiphon.governance.estimate import BYTES_PER_TOKEN, form_tokens, prompt_tokens
from antiphon.governance.limits import MEASURES, Amounts, Applied, Limits, holds, settled
from antiphon.governance.prices import FREE, MILLION, Price

USUAL_ANSWER: Final = 1024
"""Tokens that the answer of a call without a bound is taken to have where tokens are limited."""
LONGEST_ANSWER: Final = 4096
"""Tokens after which a call without a bound is told to stop, where money is limited and its model's longest answer is not known."""
FREE_SOON: Final = 1.0
"""Seconds after which a caller may try again where a place was wanted: nobody knows when one will be free."""
_CONCURRENCY: Final = MEASURES.index("concurrency")
_MONEY: Final = MEASURES.index("money")
_COUNTING: Final = frozenset(name for name, endpoint in ENDPOINTS.items() if endpoint.ability == "count_tokens")
"""Endpoints at which no model reads anything."""
_NOTHING: Final[Amounts] = (0, 0, 0, 0, 0, 0)
_UNITS: Final = {1: "second", 60: "minute", 3600: "hour", 86400: "day", 7 * 86400: "week"}


def _prompt(call: Call) -> tuple[int, int]:
    """Tokens of a call's prompt, by estimate and at most."""
    if call.endpoint in _COUNTING:
        return 0, 0
    if call.model_place is not None:
        return form_tokens()
    return prompt_tokens(call.body, lists_pictures=call.endpoint.startswith("api/"))


class Metering:
    """Stages 3 and 10 for a deployment with limits or prices.

    ``names`` has all names of a model that callers name, and raises ModelNotFound where there is none, so that no account is made
    for it. ``dearest`` is the price that a call to it has at most; ``prices`` has those of replicas, ``provider/model``. ``ledger``
    gives the one at which new calls reserve.
    """

    def __init__(
        self,
        limits: Limits,
        prices: Mapping[str, Price],
        names: Callable[[str], Sequence[str]],
        dearest: Callable[[str], Price],
        ledger: Callable[[], Ledger],
        currency: str,
    ) -> None:
        self._limits = limits
        self._prices = prices
        self._names = names
        self._dearest = dearest
        self._ledger = ledger
        self._currency = currency

    def reserve(self, exchange: Exchange) -> bool:
        """Stage 3. True where the answer of whoever keeps the accounts is waited for."""
        call = exchange.call
        assert call is not None
        applied = self._limits.applied(exchange.principal, call.model, self._names(call.model))
        ledger = self._ledger()
        prompt, longest_prompt = _prompt(call)
        metered = exchange.metered = Metered(applied, prompt, ledger)
        if not applied:
            return False
        amounts = self._at_most(exchange, call, metered, longest_prompt)

        def known(outcome: Outcome) -> None:
            if exchange.closed:
                if not isinstance(outcome, Refusal):
                    ledger.release(outcome)
            elif isinstance(outcome, Refusal):
                exchange.fail(self._refused(outcome, applied, amounts))
            else:
                metered.reservation = outcome
                exchange.go_on()

        outcome = ledger.reserve(holds(applied, amounts), known)
        if outcome is None:
            return True
        if isinstance(outcome, Refusal):
            raise self._refused(outcome, applied, amounts)
        metered.reservation = outcome
        return False

    def renew(self, exchanges: Iterable[Exchange]) -> None:
        """Say of calls that run for long that they still hold what they have reserved."""
        for exchange in exchanges:
            metered = exchange.metered
            if metered is not None and metered.reservation is not None:
                metered.ledger.renew(metered.reservation)

    def settle(self, exchange: Exchange) -> None:
        """Stage 10. Also of a call that was refused, and has used nothing."""
        metered, call = exchange.metered, exchange.call
        if metered is None or call is None:
            return
        asked = bool(call.trail)
        if asked and exchange.usage is NO_USAGE:
            self._estimate(exchange, metered)
        usage = exchange.usage
        if usage is not NO_USAGE:
            exchange.cost = self._prices.get(call.target, FREE).of(usage)
        reservation, metered.reservation = metered.reservation, None
        if reservation is None:
            return
        amounts = _NOTHING
        if asked:
            total = usage.prompt_tokens + usage.completion_tokens
            amounts = (1, total, usage.prompt_tokens, usage.completion_tokens, 0, exchange.cost)
        metered.ledger.settle(reservation, settled(metered.applied, amounts))

    def _at_most(self, exchange: Exchange, call: Call, metered: Metered, longest_prompt: int) -> Amounts:
        """What a call may use; one whose cost has no bound is given one."""
        answers = answers_of(call)
        output = call.max_tokens * answers
        cost = 0
        if any(each.place == _MONEY for each in metered.applied):
            price = self._dearest(call.model)
            longest = call.max_tokens or price.max_output
            if not longest and call.endpoint in BOUNDABLE and price.output:
                longest = LONGEST_ANSWER
                exchange.call = bounded(call, longest)
            cost = price.at_most(longest_prompt, longest * answers)
        if not output and call.endpoint in BOUNDABLE:
            output = USUAL_ANSWER * answers
        return 1, metered.input_tokens + output, metered.input_tokens, output, 1, cost

    def _estimate(self, exchange: Exchange, metered: Metered) -> None:
        """Put an estimate in the place of what the model did not tell: an answer that broke off has a token in every event.

        Whoever left before has had its prompt read, and an answer that a guardrail stopped was said. A call that failed before its
        answer began was for nothing, and costs nothing.
        """
        if exchange.endpoint in _COUNTING:
            return
        output = 0
        if exchange.started or isinstance(exchange.error, ContentBlocked):
            output = exchange.events
        elif exchange.error is None:
            output = exchange.received // BYTES_PER_TOKEN if exchange.endpoint in BOUNDABLE else 0
        elif not isinstance(exchange.error, ClientGone):
            return
        exchange.usage = Usage(metered.input_tokens, output, metered.input_tokens + output)
        exchange.estimated = True

    def _refused(self, refusal: Refusal, applied: Sequence[Applied], amounts: Amounts) -> AntiphonError:
        rule = next(each for each in applied if each.account == refusal.account)
        if refusal.reason == "unavailable":
            return LimitsUnavailable(
                f"what {_owner(rule)} may use is limited, and what was used cannot be known at the moment", retry_after=1.0
            )
        what = self._in_words(rule)
        if rule.place == _CONCURRENCY:
            return LimitReached(f"{_owner(rule)} may have {what}, which is used up", retry_after=FREE_SOON)
        if rule.place != _MONEY:
            return LimitReached(f"{_owner(rule)} may have {what}, which is used up", retry_after=refusal.retry_after)
        most = _money(amounts[_MONEY], self._currency)
        return BudgetSpent(
            f"{_owner(rule)} may spend {what}, of which too little is left for this call, which can cost up to {most}",
            retry_after=refusal.retry_after,
        )

    def _in_words(self, rule: Applied) -> str:
        limit, measure = rule.limit, rule.rule.measure
        if measure == "money":
            return _money(limit.capacity, self._currency) + _period(limit.window)
        noun = "calls" if measure in ("requests", "concurrency") else measure.replace("_", " ")
        if limit.capacity == 1:
            noun = noun.removesuffix("s")
        return f"{limit.capacity} {noun}{' at once' if measure == 'concurrency' else _period(limit.window)}"


def _owner(rule: Applied) -> str:
    scope = rule.rule.scope
    return "everyone together" if scope == "everyone" else f'the {scope} "{rule.name}"'


def _money(amount: int, currency: str) -> str:
    digits = f"{amount / MILLION:.6f}".rstrip("0")
    whole, _, fraction = digits.partition(".")
    return f"{whole}.{fraction:0<2} {currency}"


def _period(window: Window) -> str:
    if window.kind == "none":
        return ""
    if window.kind == "month":
        return " a month"
    unit = max(size for size in _UNITS if window.seconds % size == 0)
    count = window.seconds // unit
    article = "an" if _UNITS[unit] == "hour" else "a"
    return f" {article} {_UNITS[unit]}" if count == 1 else f" in {count} {_UNITS[unit]}s"
