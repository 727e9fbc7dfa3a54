"""Limits and prices that cannot be meant: for what is not there, twice for the same, or money without prices."""

from collections.abc import Callable, Iterator

from antiphon.config.limit_settings import LimitSettings, parse
from antiphon.config.local_models import THIS_MACHINE
from antiphon.config.network import Report
from antiphon.config.problems import among
from antiphon.config.settings import Settings
from antiphon.core.errors import ConfigError
from antiphon.governance.limits import EACH

_QUOTAS = ("requests", "tokens", "input_tokens", "output_tokens", "money")


Written = Callable[[str], bool]
"""Whether there is a setting at a path, right or wrong."""


def wrong(
    settings: Settings, known: frozenset[str], unread: frozenset[str], report: Report, written: Written
) -> Iterator[ConfigError]:
    """Everything that is wrong. ``known`` is what a model can be called by; nothing is said of names among ``unread``."""
    yield from _limits(settings, known, unread, report, written)
    yield from _owners(settings, unread, report)
    yield from _prices(settings, known, unread, report)


def _owners(settings: Settings, unread: frozenset[str], report: Report) -> Iterator[ConfigError]:
    """Limits of keys, teams and so on that nobody has. Where there is a file of keys too, it may have them."""
    keys = settings.server.keys
    if settings.server.keys_file:
        return
    for index, row in enumerate(settings.limits):
        if row.scope in ("", "everyone", "model") or row.name == EACH or row.name in unread:
            continue
        names = sorted({key.name if row.scope == "key" else str(getattr(key, row.scope)) for key in keys} - {""})
        if row.name not in names:
            what = f'limits[{index}] is of the {row.scope} "{row.name}", and no key is of it'
            yield report(f"limits[{index}].name", what, among(row.name, names))


def _limits(
    settings: Settings, known: frozenset[str], unread: frozenset[str], report: Report, has: Written
) -> Iterator[ConfigError]:
    written: dict[tuple[str, str, str, str], str] = {}
    for index, row in enumerate(settings.limits):
        path = f"limits[{index}]"
        if not row.scope:
            continue
        if row.scope == "everyone" and row.name != "*":
            yield report(
                f"{path}.name", f'{path} is of everyone, and names "{row.name}"', "leave out the name, or give it another scope"
            )
        if row.scope == "model" and row.name != "*" and row.name not in known and row.name not in unread:
            yield report(
                f"{path}.name",
                f'{path} is of the model "{row.name}", which is not known',
                among(row.name, known),
            )
        if not any(has(f"{path}.{measure}") for measure in (*_QUOTAS, "concurrency")):
            yield report(
                path, f"{path} limits nothing", "give it requests, tokens, input_tokens, output_tokens, concurrency or money"
            )
        for measure, window in _windows(row):
            if isinstance(window, ValueError):
                yield report(f"{path}.{measure}", f"{path}.{measure} cannot be: {window}", "give less, or another time")
                continue
            other = written.setdefault((row.scope, row.name, measure, window), path)
            if other != path:
                what = f"{path} and {other} both limit the {measure} of the same within the same time"
                yield report(f"{path}.{measure}", what, "keep one of them")


def _windows(row: LimitSettings) -> Iterator[tuple[str, str | ValueError]]:
    """Each measure that a row limits, and the code of its window, or why there is none."""
    for measure in _QUOTAS:
        if text := getattr(row, measure):
            try:
                yield measure, parse(text, money=measure == "money").window.code
            except ValueError as error:
                yield measure, error
    if row.concurrency is not None:
        yield "concurrency", ""


def _prices(settings: Settings, known: frozenset[str], unread: frozenset[str], report: Report) -> Iterator[ConfigError]:
    first: dict[str, str] = {}
    for index, row in enumerate(settings.prices):
        path = f"prices[{index}]"
        other = first.setdefault(row.model, path)
        if row.model and other != path:
            yield report(f"{path}.model", f'"{row.model}" has a price twice: {other} and {path}', "keep one of them")
        if row.model in settings.aliases:
            what = f'{path} is for "{row.model}", which is an alias: a call costs what the model costs that answers it'
            yield report(f"{path}.model", what, f"name what it leads to: {', '.join(settings.aliases[row.model])}")
        if row.model and row.model not in known and not unread.intersection((row.model, *row.model.split("/", 1))):
            yield report(f"{path}.model", f'{path} is for "{row.model}", which is not known', among(row.model, known))
    limited = next((index for index, row in enumerate(settings.limits) if row.money), None)
    if limited is None:
        return
    for names in _priced_by(settings):
        if not any(name in first for name in names) and not unread.intersection(names):
            what = f'money is limited, and "{names[0]}" has no price, so that its calls would cost nothing'
            yield report(
                f"limits[{limited}].money",
                what,
                f'add it to prices: "model: {names[0]}", with input and output, 0 where it is free',
            )


def _priced_by(settings: Settings) -> Iterator[tuple[str, ...]]:
    """Of each model elsewhere, the names that its price may have. What runs on this machine costs nothing unless it has one."""
    for row in settings.providers:
        if row.name and row.name != THIS_MACHINE:
            for model in row.models:
                if model.name:
                    yield f"{row.name}/{model.upstream or model.name}", f"{row.name}/{model.name}", model.name
