"""Composes what callers may use and what it costs from the settings."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

from antiphon.config import Settings
from antiphon.config.limit_settings import LimitSettings, PriceSettings, parse
from antiphon.core.ledger import FOREVER, Ledger, Limit
from antiphon.dispatch.directory import Directory
from antiphon.gateway.metering import Metering
from antiphon.governance.limits import Limits, Measure, Rule, Scope
from antiphon.governance.prices import Price, dearest, in_millionths

_QUOTAS: tuple[Measure, ...] = ("requests", "tokens", "input_tokens", "output_tokens")


def metering(settings: Settings, directory: Directory, ledger: Callable[[], Ledger]) -> Metering | None:
    """What the settings ask for; None where nothing is limited and nothing has a price."""
    if not settings.limits and not settings.prices:
        return None
    prices = _prices(settings)

    @cache
    def dearest_of(name: str) -> Price:
        return dearest([prices[replica] for replica in directory.replicas_of(name) if replica in prices])

    return Metering(Limits(rules(settings.limits)), prices, cache(directory.names_of), dearest_of, ledger, settings.currency)


def rules(rows: tuple[LimitSettings, ...]) -> Iterator[Rule]:
    """The limits of a configuration, one by one."""
    for row in rows:
        outage: Literal["open", "closed"] = "open" if row.outage == "allow" else "closed"
        name = "" if row.scope == "everyone" else row.name
        scope: Scope = row.scope  # type: ignore[assignment]  # its pattern has the same words
        for measure in _QUOTAS:
            if text := getattr(row, measure):
                parsed = parse(text)
                yield Rule(scope, name, measure, Limit(parsed.amount, parsed.window, outage))
        if row.concurrency is not None:
            yield Rule(scope, name, "concurrency", Limit(row.concurrency, FOREVER, outage))
        if row.money:
            parsed = parse(row.money, money=True)
            yield Rule(scope, name, "money", Limit(parsed.amount, parsed.window, "closed", "charge"))


def _prices(settings: Settings) -> dict[str, Price]:
    """Price of each replica, ``provider/model``, that has one: a row for it goes before a row for its name."""
    rows = {row.model: price_of(row) for row in settings.prices}
    found = {}
    for provider in settings.providers:
        for model in provider.models:
            replica = f"{provider.name}/{model.upstream or model.name}"
            price = rows.get(replica) or rows.get(f"{provider.name}/{model.name}") or rows.get(model.name)
            if price is not None:
                found[replica] = price
    for name in (*(model.name for model in settings.models), settings.embeddings.name):
        price = rows.get(f"antiphon/{name}") or rows.get(name)
        if price is not None:
            found[f"antiphon/{name}"] = price
    return found


def price_of(row: PriceSettings) -> Price:
    """A row of prices in whole numbers: what is for a million tokens is as many millionths for one."""
    return Price(
        in_millionths(row.input),
        in_millionths(row.output),
        None if row.cached_input is None else in_millionths(row.cached_input),
        None if row.reasoning is None else in_millionths(row.reasoning),
        in_millionths(row.call) * 1_000_000,
        row.max_output,
    )
