"""What is wrong in a request's JSON is told by its place and in plain words."""

import msgspec
import pytest

from antiphon.execution.wire.wrong_values import WrongValue


class Part(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    weight: float | None = None


class Body(msgspec.Struct):
    model: str
    parts: list[Part] = []
    count: int | None = None
    many: str | list[str] | None = None
    limits: dict[str, int] = {}
    share: bool = False


WRONG = {
    b"[]": ("", "the request body must be an object, not a list", "send one JSON object"),
    b"null": ("", "the request body must be an object, not null", "send one JSON object"),
    b'{"parts":[]}': ("model", "the field `model` is missing", "add it"),
    b'{"model":3}': ("model", "the field `model` must be a text, not a whole number", "give a text"),
    b'{"model":"m","parts":[{"role":"a"},{"role":[]}]}': ("parts[1].role", "must be a text, not a list", "give a text"),
    b'{"model":"m","parts":[{}]}': ("parts[0].role", "the field `parts[0].role` is missing", "add it"),
    b'{"model":"m","parts":[{"role":"a","weight":"x"}]}': ("parts[0].weight", "must be a number, not a text", "give a number"),
    b'{"model":"m","count":1.5}': ("count", "must be a whole number, not a number", "give a whole number"),
    b'{"model":"m","many":{}}': ("many", "must be a text or a list, not an object", "give a text or a list"),
    b'{"model":"m","share":1}': ("share", "must be true or false, not a whole number", "give true or false"),
    b'{"model":"m","limits":{"a":"b"}}': ("limits[...]", "must be a whole number, not a text", "give a whole number"),
    b'{"model":"m","parts":[{"role":"a","b":1}]}': ("parts[0]", "has the field `b`, which is not known", "correct it"),
}


@pytest.mark.parametrize(("body", "told"), WRONG.items(), ids=[body.decode() for body in WRONG])
def test_a_wrong_value_is_told_by_place_expectation_and_remedy(body: bytes, told: tuple[str, str, str]) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(body, type=Body)
    error = WrongValue.of(caught.value).error()
    place, message, remedy = told
    assert (error.param or "") == place
    assert message in error.message
    assert remedy in error.remedy
    assert "Expected" not in str(error)


def test_a_bound_is_told_in_words() -> None:
    wrong = WrongValue.of(msgspec.ValidationError("Expected `int` >= 1 - at `$.n`"))
    assert str(wrong.error()) == "the field `n` must be a whole number >= 1; give a whole number >= 1"
