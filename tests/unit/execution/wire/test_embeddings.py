"""Embeddings: callers of OpenAI's dialect in front of servers that speak another."""

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import InvalidRequest, UnsupportedParameter, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.cohere import embeddings as cohere
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingAnswer, EmbeddingRequest, vector_of
from antiphon.execution.wire.jina import embeddings as jina
from antiphon.execution.wire.openai import embeddings as openai
from antiphon.execution.wire.voyage import embeddings as voyage

ABLE = EmbeddingAbilities()
PLAIN = EmbeddingAbilities(dimensions=False, token_ids=False)
Encode = Callable[[EmbeddingRequest, EmbeddingAbilities], bytes]
WRITERS = pytest.mark.parametrize(
    "encode", [openai.encode_request, cohere.encode_request, jina.encode_request, voyage.encode_request], ids=lambda f: f.__module__
)
TEXT_WRITERS = pytest.mark.parametrize("encode", [cohere.encode_request, jina.encode_request, voyage.encode_request])


def asked(**fields: Any) -> EmbeddingRequest:
    return openai.decode_request(json.dumps({"model": "m", "input": "hello", **fields}).encode())


def written(encode: Encode, request: EmbeddingRequest) -> Any:
    return json.loads(encode(request, ABLE))


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def vector(value: Any) -> Any:
    return vector_of(msgspec.Raw(json.dumps(value).encode()))


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


# -- requests


@pytest.mark.parametrize(
    ("given", "inputs", "single"),
    [
        ("hello", ("hello",), True),
        (["a", "b"], ("a", "b"), False),
        ([1, 2, 3], ((1, 2, 3),), True),
        ([[1, 2], [3]], ((1, 2), (3,)), False),
        (["a", [1]], ("a", (1,)), False),
    ],
)
def test_inputs_of_every_kind_are_read(given: Any, inputs: Any, single: bool) -> None:
    request = asked(input=given)
    assert (request.inputs, request.single) == (inputs, single)
    assert written(openai.encode_request, request)["input"] == given


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": []}, "input"),
        ({"input": ["a", 7]}, "input[1]"),
        ({"input": [[1], []]}, "input[1]"),
        ({"input": [[1], ["a"]]}, "input[1][0]"),
        ({"input": [-1]}, "input[0]"),
        ({"input": [2**70]}, "input[0]"),
        ({"input": {"text": "a"}}, "input"),
        ({"input": None}, "input"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": "8"}, "dimensions"),
        ({"dimensions": 2**64}, "dimensions"),
        ({"encoding_format": "hex"}, "encoding_format"),
        ({"input_type": "poem"}, "input_type"),
        ({"input_type": "query", "task": "retrieval.passage"}, "task"),
        ({"truncate": "middle"}, "truncate"),
        ({"user": 7}, "user"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as told:
        asked(**fields)
    assert told.value.param == param
    assert told.value.remedy


@pytest.mark.parametrize(
    ("field", "word", "cohere_s", "jina_s", "voyage_s"),
    [
        ("input_type", "query", "search_query", "retrieval.query", "query"),
        ("input_type", "search_query", "search_query", "retrieval.query", "query"),
        ("input_type", "passage", "search_document", "retrieval.passage", "document"),
        ("task", "retrieval.passage", "search_document", "retrieval.passage", "document"),
        ("task_type", "RETRIEVAL_DOCUMENT", "search_document", "retrieval.passage", "document"),
        ("task", "classification", "classification", "classification", None),
        ("task", "separation", "clustering", "separation", None),
        ("task", "text-matching", None, "text-matching", None),
        ("task", "code.query", None, "code.query", None),
        ("task_type", "FACT_VERIFICATION", None, None, None),
    ],
)
def test_what_vectors_are_for_is_told_in_each_vendors_words(
    field: str, word: str, cohere_s: str | None, jina_s: str | None, voyage_s: str | None
) -> None:
    request = asked(**{field: word})
    rows: list[tuple[Encode, str, str | None]] = [
        (cohere.encode_request, "input_type", cohere_s),
        (jina.encode_request, "task", jina_s),
        (voyage.encode_request, "input_type", voyage_s),
    ]
    for encode, name, expected in rows:
        if expected is None:
            with pytest.raises(UnsupportedParameter) as told:
                encode(request, ABLE)
            assert told.value.param == "input_type"
        else:
            assert written(encode, request)[name] == expected
    with pytest.raises(UnsupportedParameter, match="alike"):
        openai.encode_request(request, ABLE)


def test_cohere_is_always_told_what_vectors_are_for() -> None:
    assert written(cohere.encode_request, asked())["input_type"] == "search_document"


def test_the_size_of_vectors_has_each_vendors_name() -> None:
    request = asked(dimensions=256)
    assert written(openai.encode_request, request)["dimensions"] == 256
    assert written(jina.encode_request, request)["dimensions"] == 256
    assert written(cohere.encode_request, request)["output_dimension"] == 256
    assert written(voyage.encode_request, request)["output_dimension"] == 256


@WRITERS
def test_a_size_that_the_model_cannot_give_is_refused(encode: Encode) -> None:
    with pytest.raises(UnsupportedParameter) as told:
        encode(asked(dimensions=8), PLAIN)
    assert told.value.param == "dimensions"


@pytest.mark.parametrize("given", [[1, 2], [[1], [2]], ["a", [1]]])
@TEXT_WRITERS
def test_token_numbers_are_refused_where_only_texts_are_read(encode: Encode, given: Any) -> None:
    with pytest.raises(UnsupportedParameter) as told:
        encode(asked(input=given), ABLE)
    assert told.value.param == "input"


def test_token_numbers_are_refused_by_a_row_that_lacks_them() -> None:
    with pytest.raises(UnsupportedParameter, match="token numbers"):
        openai.encode_request(asked(input=[1, 2]), PLAIN)


@pytest.mark.parametrize(
    ("given", "cohere_s", "others"),
    [(True, "END", True), (False, "NONE", False), ("END", "END", True), ("none", "NONE", False), ("START", "START", None)],
)
def test_what_is_too_long_is_cut_off_as_the_caller_says(given: Any, cohere_s: str, others: bool | None) -> None:
    request = asked(truncate=given)
    assert written(cohere.encode_request, request)["truncate"] == cohere_s
    if others is None:
        for encode in (jina.encode_request, voyage.encode_request, openai.encode_request):
            with pytest.raises(UnsupportedParameter):
                encode(request, ABLE)
    else:
        assert written(jina.encode_request, request)["truncate"] is others
        assert written(voyage.encode_request, request)["truncation"] is others


def test_nothing_is_cut_off_in_silence() -> None:
    """OpenAI's servers and Jina's refuse what is too long by themselves; the others must be told."""
    assert written(cohere.encode_request, asked())["truncate"] == "NONE"
    assert written(voyage.encode_request, asked())["truncation"] is False
    assert "truncate" not in written(jina.encode_request, asked())


@WRITERS
def test_vectors_are_asked_for_packed_where_the_caller_wants_them_so(encode: Encode) -> None:
    spelled = json.dumps(written(encode, asked(encoding_format="base64")))
    assert "base64" in spelled
    assert "base64" not in json.dumps(written(encode, asked()))


@WRITERS
def test_a_field_that_the_vendor_does_not_know_is_refused_by_name(encode: Encode) -> None:
    request = msgspec.structs.replace(asked(), dialect="elsewhere", extra={"colour": msgspec.Raw(b'"red"')})
    with pytest.raises(UnsupportedParameter) as told:
        encode(request, ABLE)
    assert told.value.param == "colour"


def test_a_field_of_the_vendors_own_goes_on_to_it_alone() -> None:
    request = asked(late_chunking=True, metadata={"a": "b"})
    assert written(jina.encode_request, request)["late_chunking"] is True
    assert "metadata" not in written(jina.encode_request, request)
    with pytest.raises(UnsupportedParameter, match="late_chunking"):
        cohere.encode_request(request, ABLE)
    assert written(openai.encode_request, request)["metadata"] == {"a": "b"}
    assert written(cohere.encode_request, asked(max_tokens=9))["max_tokens"] == 9


def test_null_asks_for_nothing() -> None:
    request = asked(dimensions=None, encoding_format=None, user=None, colour=None)
    assert request.extra == {}
    assert written(voyage.encode_request, request) == {"model": "m", "input": ["hello"], "truncation": False}


# -- answers


def answer_of(read: Any, value: Any, request: EmbeddingRequest | None = None) -> EmbeddingAnswer:
    answer: EmbeddingAnswer = read(body(value), request or asked(input=["a", "b"]))
    return answer


def told(answer: EmbeddingAnswer, request: EmbeddingRequest) -> Any:
    return json.loads(openai.write_answer(answer, request, "req_1"))


def test_vectors_are_numbered_by_the_server_and_come_back_in_order() -> None:
    items = [{"index": 1, "embedding": [3.5, 4]}, {"index": 0, "embedding": [1e-3, 2]}]
    answer = answer_of(openai.read_answer, {"data": items, "usage": {"prompt_tokens": 5, "total_tokens": 5}})
    assert told(answer, asked(input=["a", "b"])) == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.001, 2]},
            {"object": "embedding", "index": 1, "embedding": [3.5, 4]},
        ],
        "model": "m",
        "usage": {"prompt_tokens": 5, "total_tokens": 5},
    }


def test_numbers_keep_every_digit_that_the_server_wrote() -> None:
    numbers = b"[0.0023064255,-1.2345678901234567e-7, 3]"
    answer = openai.read_answer(b'{"data":[{"embedding":%b}]}' % numbers, asked())
    assert b'"embedding":%b}' % numbers in openai.write_answer(answer, asked(), "r")


def test_packed_vectors_go_through_and_are_unpacked_where_the_caller_wants_numbers() -> None:
    text = packed(0.5, -2)
    answer = answer_of(openai.read_answer, {"data": [{"index": 0, "embedding": text}]}, asked())
    assert told(answer, asked(encoding_format="base64"))["data"][0]["embedding"] == text
    assert told(answer, asked())["data"][0]["embedding"] == [0.5, -2]


def test_numbers_are_packed_where_the_caller_wants_them_so() -> None:
    answer = answer_of(voyage.read_answer, {"data": [{"embedding": [0.5, -2]}]}, asked())
    assert told(answer, asked(encoding_format="base64"))["data"][0]["embedding"] == packed(0.5, -2)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "total_tokens": 7}, 7),
        ({"total_tokens": 7}, 7),
        ({"prompt_tokens": 7}, 7),
        ({"total_tokens": -1}, None),
        ({"total_tokens": "7"}, None),
        (7, None),
        (None, None),
    ],
)
def test_usage_is_told_as_far_as_the_server_told_it(usage: Any, expected: int | None) -> None:
    answer = answer_of(jina.read_answer, {"data": [{"embedding": [1]}], "usage": usage}, asked())
    assert answer.usage == (None if expected is None else Usage(expected, 0, expected))
    assert told(answer, asked())["usage"] == {"prompt_tokens": expected or 0, "total_tokens": expected or 0}


@pytest.mark.parametrize("spelling", ["float", "base64"])
def test_coheres_answer(spelling: str) -> None:
    vectors = [[0.5, 1], [2, 3]] if spelling == "float" else [packed(0.5, 1), packed(2, 3)]
    value = {
        "id": "x",
        "embeddings": {spelling: vectors},
        "texts": ["a", "b"],
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 4.0}},
        "response_type": "embeddings_by_type",
    }
    answer = answer_of(cohere.read_answer, value)
    assert [item["embedding"] for item in told(answer, asked())["data"]] == [[0.5, 1], [2, 3]]
    assert answer.usage == Usage(4, 0, 4)


@pytest.mark.parametrize("meta", [None, 7, {}, {"billed_units": {"input_tokens": "4"}}, {"billed_units": {"search_units": 1}}])
def test_coheres_answer_without_a_count(meta: Any) -> None:
    assert answer_of(cohere.read_answer, {"embeddings": {"float": [[1], [2]]}, "meta": meta}).usage is None


@pytest.mark.parametrize(
    "value",
    [
        [],
        7,
        {},
        {"data": []},
        {"data": 7},
        {"data": [{"embedding": [1]}]},
        {"data": [{"embedding": [1]}] * 3},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
        {"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]},
        {"data": [{"index": -1, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
        {"data": [{"index": "0", "embedding": [1]}, {"embedding": [1]}]},
        *({"data": [{"embedding": [1]}, {"embedding": wrong}]} for wrong in ([], None, {}, [[1]], ["1"], [None], [True], 7)),
        *({"data": [{"embedding": [1]}, {"embedding": wrong}]} for wrong in ("", "?", "AAA=", "AAAAAAA=", "é")),
    ],
)
def test_what_is_no_answer_is_told_as_the_servers_fault(value: Any) -> None:
    with pytest.raises(UpstreamBroken):
        answer_of(openai.read_answer, value)
    if isinstance(value, dict) and value.get("data"):
        value = {"embeddings": {"float": value["data"]}}
    with pytest.raises(UpstreamBroken):
        answer_of(cohere.read_answer, value)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (openai.read_answer, {"error": {"message": "too long", "code": 413}}),
        (jina.read_answer, {"error": "too long"}),
        (cohere.read_answer, {"message": "too long"}),
    ],
)
def test_an_error_under_a_status_of_success_is_an_error(read: Any, value: Any) -> None:
    with pytest.raises(UpstreamRefused) as error:
        answer_of(read, value)
    assert b"too long" in error.value.body


def test_a_number_that_no_float_holds_cannot_be_packed() -> None:
    with pytest.raises(UpstreamBroken, match="out of range"):
        vector([1e300]).as_packed()
    with pytest.raises(UpstreamBroken, match="out of range"):
        vector_of(msgspec.Raw(b"[1e999]")).as_packed()


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_packed_number_that_json_has_no_word_for_is_not_told_as_one(number: float) -> None:
    with pytest.raises(UpstreamBroken, match="not finite"):
        vector(packed(1, number)).as_numbers()
