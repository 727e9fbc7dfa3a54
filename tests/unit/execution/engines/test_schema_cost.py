import json
from typing import Any

import pytest

from antiphon.execution.engines._schema_cost import MAX_DEPTH, MAX_NODES, TooCostly, check_cost


def nested_arrays(levels: int) -> str:
    return '{"type":"array","items":' * levels + '{"type":"string"}' + "}" * levels


def nested_objects(levels: int) -> str:
    return '{"type":"object","properties":{"a":' * levels + "{}" + "}}" * levels


def lengths(*values: int) -> dict[str, Any]:
    return {"properties": {f"p{value}": {"type": "string", "maxLength": value} for value in values}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string", "pattern": "((a{1,1000}){1,1000}){1,1000}"}, "repetitions in pattern"),
        ({"type": "string", "pattern": "((a{1,100}){1,100}){1,100}"}, "repetitions in pattern"),
        ({"properties": {"b": {"pattern": "(?:[^x]{2,20}){,50}"}}}, r"properties\.b\.pattern"),
        ({"pattern": "(){1,99999999999999999999}"}, "repetitions in pattern"),
        ({"pattern": "." * 300}, "with pattern its strings count"),
        ({"pattern": ".?" * 100}, "more than 16 quantifiers"),
        ({"pattern": "a" * 513}, "longer than 512"),
        ({"patternProperties": {"^.{1,1000}$": {}}}, "patternProperties"),
        ({"type": "string", "maxLength": 1_000_000}, "maxLength is 1000000; at most 256"),
        ({"properties": {"a": {"minLength": 1e9}}}, r"properties\.a\.minLength"),
        ({"type": "array", "items": {}, "minItems": 1_000_000}, "minItems is 1000000; at most 1000"),
        (lengths(100, 101, 102), r"properties\.p\d+\.maxLength"),
        ({"properties": {f"p{number}": {} for number in range(500)}}, "properties has 500 keys"),
        ({"enum": list(range(MAX_NODES))}, f"more than {MAX_NODES} values"),
        (nested_arrays(900), f"deeper than {MAX_DEPTH}"),
        (nested_objects(200), f"deeper than {MAX_DEPTH}"),
        (nested_arrays(2600), "deeper than"),
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        (" " * 70_000, "65536 bytes"),
    ],
)
def test_what_would_take_too_long_is_refused(schema: dict[str, Any] | str, reason: str) -> None:
    with pytest.raises(TooCostly, match=reason):
        check_cost(schema if isinstance(schema, str) else json.dumps(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "string", "maxLength": 255},
        {"properties": {f"p{number}": {"type": "string", "maxLength": 200} for number in range(50)}},
        {"type": "array", "maxItems": 100, "items": {"type": "array", "maxItems": 100, "items": {"type": "integer"}}},
        {"type": "string", "pattern": r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$"},
        {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T(\d{2}:){2}\d{2}(Z|[+-]\d{2}:\d{2})$"},
        {"type": "string", "pattern": r"a\{1,1000\}{x}"},
        {"type": "string", "pattern": "(["},
        {"properties": {"maxLength": {"type": "integer"}, "pattern": {"type": "string"}}, "required": ["maxLength", "pattern"]},
        {"$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"},
        {"enum": [f"country {number}" for number in range(250)]},
        nested_objects(20),
    ],
)
def test_ordinary_schemas_pass(schema: Any) -> None:
    check_cost(schema if isinstance(schema, str) else json.dumps(schema))
