"""Guardrails: one file each, ending in ``plugin = ...``."""
