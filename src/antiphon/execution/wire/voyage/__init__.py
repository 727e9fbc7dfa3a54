"""Voyage's dialect: embeddings and ranking."""

from typing import Final

DIALECT: Final = "voyage"
