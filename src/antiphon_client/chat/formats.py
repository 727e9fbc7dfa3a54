"""Types as the forms of answers and of tools."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, cast

from antiphon_client.chat.params import FunctionTool
from antiphon_client.parsing import JsonSchema, schema_of
from antiphon_client.sampling import JsonSchemaFormat

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def response_format(kind: type[Any] | JsonSchema, *, name: str = "", strict: bool | None = None) -> JsonSchemaFormat:
    """What ``response_format=`` takes to hold a model to a type or a JSON Schema.

    ``strict`` None: where the schema allows it for a type, and left to the server for a JSON Schema. Raises TypeError.
    """
    schema, closed = schema_of(kind)
    named: dict[str, Any] = {"name": _named(kind, name), "schema": schema}
    if strict is not None or not isinstance(kind, Mapping):
        named["strict"] = closed if strict is None else strict
    return cast("JsonSchemaFormat", {"type": "json_schema", "json_schema": named})


def function_tool(kind: type[Any] | JsonSchema, *, name: str = "", description: str = "") -> FunctionTool:
    """A tool whose arguments are of a type; the type's name and docstring are those of the tool. Raises TypeError."""
    schema, closed = schema_of(kind)
    told = description or (inspect.getdoc(kind) or "" if isinstance(kind, type) else str(schema.get("description", "")))
    function: dict[str, Any] = {"name": _named(kind, name), "parameters": schema}
    if told:
        function["description"] = told
    if closed:
        function["strict"] = True
    return cast("FunctionTool", {"type": "function", "function": function})


def _named(kind: type[Any] | JsonSchema, name: str) -> str:
    own = kind.get("title", "") if isinstance(kind, Mapping) else getattr(kind, "__name__", "")
    return name or _NOT_IN_NAMES.sub("_", str(own))[:64] or "answer"
