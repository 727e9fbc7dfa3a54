"""Guardrails that cannot be meant: of a kind that is not known, with options that it does not have, twice under one name."""

from collections.abc import Iterator
from typing import Any

import msgspec

from antiphon.config.guardrail_settings import GuardrailSettings
from antiphon.config.network import Report
from antiphon.config.problems import among
from antiphon.config.settings import Settings
from antiphon.core.errors import ConfigError
from antiphon.core.guardrail import GuardrailPlugin
from antiphon.governance.guardrails import GUARDRAILS


def wrong(settings: Settings, known: frozenset[str], unread: frozenset[str], report: Report) -> Iterator[ConfigError]:
    """Everything that is wrong. ``known`` is what a model can be called by; nothing is said of names among ``unread``."""
    names: dict[str, int] = {}
    for index, row in enumerate(settings.guardrails):
        path = f"guardrails[{index}]"
        if not row.kind:
            continue
        first = names.setdefault(row.title, index)
        if first != index:
            what = f'{path} and guardrails[{first}] are both called "{row.title}"'
            yield report(f"{path}.name", what, "give one of them another name")
        try:
            plugin: GuardrailPlugin = GUARDRAILS.load(row.kind)
        except ConfigError as error:
            yield report(f"{path}.kind", error.message, among(row.kind, GUARDRAILS.names()))
            continue
        yield from _options(row, plugin, path, report)
        if row.input is False and row.output is False:
            yield report(path, f"{path} looks at neither input nor output", "leave one of them out, or say `mode: off`")
        for place, model in enumerate(row.models):
            if model not in known and model not in unread:
                what = f'{path} is for the model "{model}", which is not known'
                yield report(f"{path}.models[{place}]", what, among(model, known))


def options_of(row: GuardrailSettings, plugin: GuardrailPlugin) -> Any:
    """The options of a row as its plugin has them. Raises ValueError for what they cannot be."""
    try:
        return msgspec.convert(row.options, plugin.options)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _options(row: GuardrailSettings, plugin: GuardrailPlugin, path: str, report: Report) -> Iterator[ConfigError]:
    known = ", ".join(plugin.options.__struct_fields__)
    try:
        plugin.make(options_of(row, plugin))
    except ValueError as error:
        what = f'the options of {path} do not suit "{row.kind}": {error}'
        yield report(f"{path}.options", what, f"known: {known}" if known else "it has none")
