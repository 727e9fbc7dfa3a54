from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from antiphon_client import ChatCompletion, ParseError, ResponseInfo, function_tool, response_format
from antiphon_client.answers import reader
from antiphon_client.parsing import parse, schema_of

SCHEMA = {"type": "object", "title": "A place!", "properties": {"name": {"type": "string"}}}


class Street(msgspec.Struct):
    name: str
    number: int = 1


class Place(msgspec.Struct):
    """A place on earth."""

    city: str
    streets: list[Street] = []
    kind: Literal["town", "village"] = "town"


class Tree(msgspec.Struct):
    name: str
    below: list["Tree"] = []


class Free(msgspec.Struct):
    counts: dict[str, int]


class Model(pydantic.BaseModel):
    city: str
    size: int = pydantic.Field(default=3, ge=1)


@dataclass
class Plain:
    city: str


class Typed(TypedDict):
    city: str


def answer(text: str | None, **choice: Any) -> ChatCompletion:
    told = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}]}
    return reader(ChatCompletion)(msgspec.json.encode(told), ResponseInfo(200, {}, "req-1"))


def test_a_struct_becomes_a_strict_schema_with_an_object_at_its_root() -> None:
    schema, closed = schema_of(Place)
    assert closed
    assert schema["type"] == "object"
    assert schema["required"] == ["city", "streets", "kind"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Street"]["required"] == ["name", "number"]
    assert "default" not in schema["properties"]["kind"]


def test_a_type_that_holds_itself_keeps_its_name() -> None:
    schema, closed = schema_of(Tree)
    assert closed
    assert schema["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["additionalProperties"] is False


def test_an_object_with_free_keys_cannot_be_strict_and_is_left_as_it_is() -> None:
    schema, closed = schema_of(Free)
    assert not closed
    assert schema["properties"]["counts"]["additionalProperties"] == {"type": "integer"}
    assert response_format(Free)["json_schema"]["strict"] is False


def test_pydantic_dataclass_and_typed_dictionary_have_schemas_too() -> None:
    for kind in (Model, Plain, Typed):
        schema, closed = schema_of(kind)
        assert closed
        assert "city" in schema["required"]


def test_a_schema_of_the_callers_own_travels_as_it_is() -> None:
    assert response_format(SCHEMA) == {"type": "json_schema", "json_schema": {"name": "A_place_", "schema": SCHEMA}}
    assert response_format({}, name="thing", strict=True)["json_schema"] == {"name": "thing", "schema": {}, "strict": True}


def test_a_tool_has_the_name_and_the_words_of_its_type() -> None:
    tool = function_tool(Place)["function"]
    assert (tool["name"], tool["description"], tool["strict"]) == ("Place", "A place on earth.", True)
    assert function_tool(SCHEMA, name="find", description="Finds.")["function"] == {
        "name": "find", "description": "Finds.", "parameters": SCHEMA,
    }  # fmt: skip


def test_what_has_no_schema_is_refused() -> None:
    with pytest.raises(TypeError):
        response_format(object)


def test_text_is_read_into_each_kind_of_type() -> None:
    text = '{"city": "Köln"}'
    assert answer(text).parse(Place) == Place("Köln")
    assert answer(text).parse(Model) == Model(city="Köln")
    assert answer(text).parse(Plain) == Plain("Köln")
    assert answer(text).parse(Typed) == {"city": "Köln"}
    assert answer(text).parse(SCHEMA) == {"city": "Köln"}
    assert answer("[1, 2]").parse(list[int]) == [1, 2]


@pytest.mark.parametrize("kind", [Place, Model, Plain, SCHEMA])
@pytest.mark.parametrize("text", ["", "Sure! Here it is:", '{"city": ', '{"city": 7' + "}" * 2])
def test_text_of_another_form_is_told_with_the_text(kind: Any, text: str) -> None:
    with pytest.raises(ParseError) as told:
        answer(text).parse(kind)
    assert told.value.text == text
    assert told.value.request_id == "req-1"
    assert told.value.remedy


def test_refused_and_cut_answers_are_told_as_that() -> None:
    with pytest.raises(ParseError, match="refused: I will not"):
        answer(None, message={"role": "assistant", "refusal": "I will not"}).parse(Place)
    with pytest.raises(ParseError, match="cut off at a limit") as told:
        answer('{"city": "K', finish_reason="length").parse(Place)
    assert "max_tokens" in told.value.remedy
    with pytest.raises(ParseError, match="filter"):
        answer("{", finish_reason="content_filter").parse(Place)


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(ParseError):
        parse("[" * 200_000, {})
