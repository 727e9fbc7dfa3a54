import msgspec
import pytest

from antiphon.core.errors import ContextOverflow, InvalidRequest, UnsupportedParameter
from antiphon.execution.compute_host.limits import ComputeLimits
from antiphon.execution.compute_host.requests import EmbeddingRequest, parse

SMALL = ComputeLimits(max_texts=3, max_characters=20)


HALF_A_PAIR = rb'{"model":"m","input":["ok","\ud83d and more text"]}'


def read(**fields):
    return parse(msgspec.json.encode({"model": "m", "input": "x", **fields}), 8, SMALL)


def test_one_text_and_many():
    assert read(input="ab") == EmbeddingRequest("m", ("ab",), False, True, 2)
    assert read(input=["a", "bc"]) == EmbeddingRequest("m", ("a", "bc"), False, False, 3)
    assert read(input=["a"]).place(0) == "input[0]"
    assert read(input="a").place(0) == "input"


@pytest.mark.parametrize(("given", "as_base64"), [("base64", True), ("float", False), (None, False)])
def test_encoding_formats(given, as_base64):
    assert read(encoding_format=given).base64 is as_base64


def test_harmless_fields_pass():
    assert read(user="u-1", dimensions=None).texts == ("x",)
    assert read(dimensions=8).texts == ("x",)


@pytest.mark.parametrize(
    ("fields", "kind", "param", "words"),
    [
        ({"input": ""}, InvalidRequest, "input", "is empty"),
        ({"input": []}, InvalidRequest, "input", "empty list"),
        ({"input": None}, InvalidRequest, "input", "missing"),
        ({"input": {"text": "x"}}, InvalidRequest, "input", "neither"),
        ({"input": 7}, InvalidRequest, "input", "neither"),
        ({"input": ["a", ""]}, InvalidRequest, "input[1]", "is empty"),
        ({"input": ["a", None]}, InvalidRequest, "input[1]", "not a text"),
        ({"input": ["a", True]}, InvalidRequest, "input[1]", "not a text"),
        ({"input": [1, 2]}, UnsupportedParameter, "input", "token numbers"),
        ({"input": [[1, 2], [3]]}, UnsupportedParameter, "input", "token numbers"),
        ({"input": ["a"] * 4}, InvalidRequest, "input", "at most 3"),
        ({"input": "x" * 21}, ContextOverflow, "input", "more than 20 characters"),
        ({"input": ["x" * 11] * 2}, ContextOverflow, "input", "more than 20 characters"),
        ({"input": "\ufdfa\ufdfa"}, ContextOverflow, "input", "more than 20 characters"),
        ({"encoding_format": "int8"}, InvalidRequest, "encoding_format", '"float" or "base64"'),
        ({"encoding_format": ["float"]}, InvalidRequest, "encoding_format", '"float" or "base64"'),
        ({"dimensions": 4}, UnsupportedParameter, "dimensions", "leave it out, or give 8"),
        ({"dimensions": "8"}, UnsupportedParameter, "dimensions", "leave it out, or give 8"),
        ({"dimension": 8}, InvalidRequest, "dimension", "did you mean `dimensions`"),
        ({"truncate": True}, InvalidRequest, "truncate", "known: model, input"),
        ({"model": None}, InvalidRequest, "model", "missing"),
        ({"model": ""}, InvalidRequest, "model", "empty"),
        ({"model": 3}, InvalidRequest, "model", "not a string"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(fields, kind, param, words):
    with pytest.raises(kind) as caught:
        read(**fields)
    assert caught.value.param == param
    assert words in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"x"', b"\xff", b'{"model":"m","input":"\xff"}', HALF_A_PAIR])
def test_what_is_no_object_is_refused(body):
    with pytest.raises(InvalidRequest, match=r"JSON|Unicode"):
        parse(body, 8, SMALL)


@pytest.mark.parametrize("field", ["input", "dimensions", "user", "encoding_format"])
@pytest.mark.parametrize("depth", [900, 100_000])
def test_what_is_nested_too_deeply_is_refused(field, depth):
    rest = b'"input": "x", ' if field != "input" else b""
    body = b'{"model": "m", %b"%b": %b%b}' % (rest, field.encode(), b"[" * depth, b"]" * depth)
    if (field, depth) == ("user", 900):
        assert parse(body, 8, SMALL).texts == ("x",)
        return
    with pytest.raises((InvalidRequest, UnsupportedParameter)) as caught:
        parse(body, 8, SMALL)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("field", ["input", "dimensions", "encoding_format"])
@pytest.mark.parametrize("number", [b"1e400", b"1" + b"0" * 400, b"1" + b"0" * 5000])
def test_numbers_out_of_range_are_refused_by_name(field, number):
    rest = b'"input": "x", ' if field != "input" else b""
    with pytest.raises((InvalidRequest, UnsupportedParameter)) as caught:
        parse(b'{"model": "m", %b"%b": %b}' % (rest, field.encode(), number), 8, SMALL)
    assert caught.value.param == field
    assert caught.value.remedy
    assert len(str(caught.value)) < 500
