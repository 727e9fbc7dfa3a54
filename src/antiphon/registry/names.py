"""Names of models, and the folder names that they become."""

import re
from urllib.parse import quote

from antiphon.core.errors import ModelSourceError

MAX_LENGTH = 128
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")


def is_name(name: str) -> bool:
    """Whether it can name a model in the store."""
    within = len(name) <= MAX_LENGTH and _NAME.fullmatch(name) is not None
    return within and not any(segment in {"", ".", ".."} for segment in name.split("/"))


def check_name(name: str) -> str:
    """The name itself, if it can name a model in the store. Raises ModelSourceError where it cannot."""
    if not is_name(name):
        raise ModelSourceError(
            f'"{name[:200]}" cannot be the name of a model on this machine',
            remedy=f"use at most {MAX_LENGTH} letters, digits and . _ - / : and begin with a letter or digit",
        )
    return name


def folder_name(name: str) -> str:
    """A single path component that stands for the name and for no other; never hidden, never a step upwards."""
    return quote(check_name(name), safe="")
