import json
from typing import Any

import pytest

from antiphon.execution.engines._schema_circles import Circular, check_circles

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/"} | {"": {"$ref": "#"}},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]},
        {"oneOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"x": {"$ref": "#/properties/x"}}},
        {"$defs": {"a/b~c": {"$ref": "#/$defs/a~1b~0c"}}, "type": "object"},
        {"items": {"allOf": [{"type": "string"}, {"$ref": "#/items"}]}},
    ],
)
def test_what_only_refers_to_itself_is_refused(schema: Any) -> None:
    with pytest.raises(Circular, match="refers to itself without end"):
        check_circles(json.dumps(schema))


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$defs": {"node": NODE}, "$ref": "#/$defs/node"},
        {"type": "array", "items": {"$ref": "#"}},
        {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
        {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "object"}}},
        {"$ref": "#/nowhere"},
        {"$ref": "https://elsewhere.example/schema"},
        {"properties": {"$ref": {"type": "string"}, "allOf": {"type": "integer"}}},
        {"enum": ["$ref", {"$ref": 7}]},
    ],
)
def test_what_says_something_before_it_comes_round_again_passes(schema: Any) -> None:
    check_circles(json.dumps(schema))


def test_a_chain_without_reasonable_end_is_refused() -> None:
    links = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(200_000)}
    with pytest.raises(Circular, match="too long a chain"):
        check_circles(json.dumps({"$ref": "#/$defs/d0", "$defs": links}))


def test_a_long_chain_of_references_is_followed() -> None:
    links = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(199)}
    check_circles(json.dumps({"$defs": links | {"d199": {"type": "string"}}, "$ref": "#/$defs/d0"}))
    with pytest.raises(Circular):
        check_circles(json.dumps({"$defs": links | {"d199": {"$ref": "#/$defs/d0"}}, "$ref": "#/$defs/d0"}))
