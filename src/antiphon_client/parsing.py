"""Types for what a model writes: their JSON Schema, and reading its text into them.

A type is a msgspec struct, a dataclass, a typed dictionary, anything else that msgspec knows, or a pydantic model (told by its
methods: pydantic is not imported). A JSON Schema given as it is travels as it is, and its answer is read as plain JSON.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, cast, overload

import msgspec

from antiphon_client.errors import NOTHING_SENT, Details, ParseError
from antiphon_client.transport.said_errors import UNREADABLE

Wanted = TypeVar("Wanted")
JsonSchema = Mapping[str, Any]


def schema_of(kind: type[Any] | JsonSchema) -> tuple[dict[str, Any], bool]:
    """The JSON Schema of a type, and whether it may be called strict: it then names every property and allows no others.

    Raises TypeError for a type that has none.
    """
    if isinstance(kind, Mapping):
        return dict(kind), False
    schema = kind.model_json_schema() if _is_pydantic(kind) else msgspec.json.schema(kind)
    schema = _with_root(schema)
    return (_closed(schema), True) if _is_closable(schema) else (schema, False)


@overload
def parse(text: str, kind: type[Wanted], details: Details = ...) -> Wanted: ...


@overload
def parse(text: str, kind: JsonSchema, details: Details = ...) -> Any: ...


def parse(text: str, kind: type[Any] | JsonSchema, details: Details = NOTHING_SENT) -> Any:
    """Read a model's text. Raises ParseError, which has the text."""
    try:
        if isinstance(kind, Mapping):
            return msgspec.json.decode(text)
        return cast("Any", kind).model_validate_json(text) if _is_pydantic(kind) else msgspec.json.decode(text, type=kind)
    except (ValueError, *UNREADABLE) as error:
        remedy = "ask a model that keeps to schemas, or describe the form in the question too"
        name = "JSON" if isinstance(kind, Mapping) else getattr(kind, "__name__", str(kind))
        raise ParseError(
            f"the model's text is no {name}: {error}", msgspec.structs.replace(details, remedy=remedy), text
        ) from error


def _is_pydantic(kind: Any) -> bool:
    return hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate_json")


def _with_root(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that is nothing but a reference into itself, with what it means in its place: some servers want an object there."""
    reference = schema.get("$ref", "")
    name = reference.removeprefix("#/$defs/")
    if not reference or name not in schema.get("$defs", {}):
        return schema
    root, others = schema["$defs"][name], {key: below for key, below in schema["$defs"].items() if key != name}
    if f'"{reference}"'.encode() in msgspec.json.encode([root, others]):  # it refers to itself, so it must keep its name
        others = schema["$defs"]
    return {**root, "$defs": others} if others else root


def _is_closable(schema: Any) -> bool:
    """Whether no part of it is an object with keys of any name."""
    if isinstance(schema, list):
        return all(_is_closable(below) for below in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and (not schema.get("properties") or schema.get("additionalProperties")):
        return False
    return all(_is_closable(below) for below in schema.values())


def _closed(schema: Any) -> Any:
    """The schema with every property required and no others allowed, as strict servers want it."""
    if isinstance(schema, list):
        return [_closed(below) for below in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(below) for key, below in schema.items() if key != "default"}
    if schema.get("type") == "object":
        closed |= {"required": list(schema["properties"]), "additionalProperties": False}
    return closed
