"""Guardrails: one file each, ending in ``plugin = ...``."""

from typing import Final

from antiphon.core.plugins import PluginGroup

GUARDRAILS: Final = PluginGroup("antiphon.guardrails", __name__)
