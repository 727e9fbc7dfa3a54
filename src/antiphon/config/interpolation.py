"""Puts variables of the environment into texts: ``${NAME}``, ``${NAME:-default}``, and ``$$`` for a dollar sign."""

import re
from collections.abc import Mapping

from antiphon.core.errors import ConfigError

_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<inside>[^}]*)(?P<close>\}?))")
_INSIDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


def interpolate(text: str, environ: Mapping[str, str]) -> str:
    """The text with its references replaced. As in a shell, ``:-`` also stands in for a variable that is set to nothing.

    Raises ConfigError where a variable is not set or a reference is malformed; the message names no value.
    """
    return _REFERENCE.sub(lambda match: _value(match, environ), text)


def refers(text: str) -> bool:
    """Whether the text takes something from the environment."""
    return any(not match["dollar"] for match in _REFERENCE.finditer(text))


def _value(match: re.Match[str], environ: Mapping[str, str]) -> str:
    if match["dollar"]:
        return "$"
    reference = _INSIDE.fullmatch(match["inside"])
    if reference is None or not match["close"]:
        raise ConfigError(
            f'"{match[0]}" is not a reference to an environment variable',
            remedy="write ${NAME} or ${NAME:-default}, or $$ for a dollar sign",
        )
    name, default = reference["name"], reference["default"]
    value = environ.get(name)
    if default is not None:
        return value or default
    if value is None:
        raise ConfigError(f"the environment variable {name} is not set", remedy=f"set it, or write ${{{name}:-default}}")
    return value
