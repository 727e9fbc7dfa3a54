"""Antiphon: one endpoint in front of every language model that a team has."""

__version__ = "0.1.0"
