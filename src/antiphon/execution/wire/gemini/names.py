"""What things are called with Gemini's API."""

from typing import Final

DIALECT: Final = "gemini"


def resource_name(model: str) -> str:
    """The full name of a model: ``models/name``, unless it has one already, such as ``tunedModels/name``."""
    return model if "/" in model else f"models/{model}"
