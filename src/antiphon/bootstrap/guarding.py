"""Composes the guardrails from the settings."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

import msgspec

from antiphon.config import Settings
from antiphon.config.guardrail_settings import GuardrailSettings
from antiphon.config.guardrails import options_of
from antiphon.core.guardrail import GuardrailPlugin
from antiphon.dispatch.directory import Directory
from antiphon.gateway.guarding import Guarding, ScopedRule
from antiphon.gateway.host_finder import HostFinder
from antiphon.governance.guarding.rules import Mode, Rule
from antiphon.governance.guardrails import GUARDRAILS
from antiphon.transport.client import ClientPool

PATIENCE, IMPATIENCE = 10.0, 0.5
"""Seconds that a worker waits for the compute host with a text that it cannot look at itself, and with one that it can."""


def guarding(settings: Settings, directory: Directory, host: Callable[[float], ClientPool]) -> Guarding | None:
    """What the settings ask for; None where nothing is guarded. ``host`` connects to the compute host, with patience in seconds."""
    found = tuple(rules(settings.guardrails))
    if not found:
        return None

    return Guarding(found, cache(directory.names_of), HostFinder(host(PATIENCE), host(IMPATIENCE)))


def rules(rows: tuple[GuardrailSettings, ...]) -> Iterator[ScopedRule]:
    """The guardrails of a configuration, one by one."""
    for row in rows:
        plugin: GuardrailPlugin = GUARDRAILS.load(row.kind)
        mode = row.mode or plugin.mode
        if mode == "off":
            continue
        rule = Rule(
            name=row.title,
            guardrail=plugin.make(options_of(row, plugin)),
            mode=cast("Mode", mode),
            input=plugin.input if row.input is None else row.input,
            output=plugin.output if row.output is None else row.output,
            words_only=plugin.words_only,
            microseconds=plugin.microseconds,
            key=msgspec.json.encode((row.kind, row.options), order="deterministic").decode(),
        )
        yield ScopedRule(rule, row.keys, row.teams, row.applications, row.models)
