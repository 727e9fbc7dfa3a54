"""Policies: one file each, ending in ``plugin = ...``."""
