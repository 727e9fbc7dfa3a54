"""Answers that are not JSON, or not what a JSON Schema says.

The library is ``jsonschema-rs``: it takes patterns with an engine that needs linear time, where others hand a model's answer to
one that may need time without end. Schemas are never fetched.
"""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import jsonschema_rs
import msgspec

from antiphon.core.guardrail import Finding, Guardrail

_FENCE: Final = "```"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What answers must be. Raises ValueError for a schema that cannot be used."""

    schema: dict[str, Any] = {}  # msgspec copies it
    """A JSON Schema of any draft up to 2020-12; without one any JSON will do. Patterns may not look around or back."""
    fenced: bool = False
    """Whether the JSON may stand in one block of code, with nothing around it."""

    def __post_init__(self) -> None:
        _validator(self.schema)


def _validator(schema: dict[str, Any]) -> Any:
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ValueError(f"the schema cannot be used: {reason}") from error


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not part of the schema; put it below $defs")


class JsonSchema:
    """The guardrail. Only a whole text is JSON."""

    reach: int | None = None

    def __init__(self, options: Options) -> None:
        self._validator = _validator(options.schema)
        self._fenced = options.fenced

    def find(self, text: str) -> Sequence[Finding]:
        """The whole text, where it is not as it must be. Half a text is none, so an empty one passes."""
        if not text or self._is_valid(_unfenced(text) if self._fenced else text):
            return []
        return [Finding(0, len(text), "JSON_SCHEMA")]

    def _is_valid(self, text: str) -> bool:
        try:
            return bool(self._validator.is_valid(msgspec.json.decode(text)))
        except (ValueError, RecursionError):
            return False  # not JSON, not text, or nested so deeply that nobody can read it


def _unfenced(text: str) -> str:
    inner = text.strip()
    if not (inner.startswith(_FENCE) and inner.endswith(_FENCE) and "\n" in inner):
        return text
    return inner.partition("\n")[2].removesuffix(_FENCE)


class _Plugin:
    options = Options
    mode = "block"
    input = False
    output = True
    microseconds = 10.0

    def make(self, options: Options) -> Guardrail:
        return JsonSchema(options)


plugin = _Plugin()
