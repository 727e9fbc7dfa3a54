"""Embeddings: Ollama's callers in front of OpenAI's servers, and OpenAI's callers in front of Ollama's."""

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UnsupportedParameter, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingAnswer, EmbeddingRequest
from antiphon.execution.wire.ollama import embeddings as ollama
from antiphon.execution.wire.openai import embeddings as openai

ABLE = EmbeddingAbilities()
ENOUGH = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def body(**fields: Any) -> bytes:
    return json.dumps({"model": "m", **fields}).encode()


def read(**fields: Any) -> EmbeddingRequest:
    return ollama.decode_request(body(**{"input": "hello", **fields}))


def to_openai(**fields: Any) -> dict[str, Any]:
    return json.loads(openai.encode_request(read(**fields), ABLE))


def from_openai(abilities: EmbeddingAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    return json.loads(ollama.encode_request(openai.decode_request(body(**{"input": "hello", **fields})), abilities))


def answered(request: EmbeddingRequest, **fields: Any) -> EmbeddingAnswer:
    return ollama.read_answer(json.dumps(fields).encode(), request)


def test_a_text_and_several() -> None:
    assert to_openai() == {"model": "m", "input": "hello"}
    assert to_openai(input=["a", "b"], dimensions=8) == {"model": "m", "input": ["a", "b"], "dimensions": 8}
    assert from_openai(input=["a", "b"], dimensions=8) == {"model": "m", "input": ["a", "b"], "dimensions": 8, "truncate": False}


def test_the_older_endpoint_takes_one_text() -> None:
    request = ollama.decode_older_request(body(prompt="hello", options={"num_ctx": 5}, keep_alive=0))
    assert (request.inputs, request.single) == (("hello",), True)
    assert json.loads(openai.encode_request(request, ABLE)) == {"model": "m", "input": "hello"}
    answer = EmbeddingAnswer((answered(request, embeddings=[[0.5, 1]]).vectors[0],), Usage(1, 0, 1))
    assert ollama.write_older_answer(answer, request, "r") == b'{"embedding":[0.5, 1]}'


def test_what_is_about_the_servers_memory_is_left_out_elsewhere_and_passed_on_to_its_kind() -> None:
    hints = {"options": {"num_ctx": 4096, "temperature": 0}, "keep_alive": "5m"}
    assert to_openai(**hints) == to_openai()
    assert json.loads(ollama.encode_request(read(**hints), ABLE)) == {"model": "m", "input": "hello", "truncate": False, **hints}


def test_a_text_is_cut_only_where_the_caller_allows_it() -> None:
    assert from_openai()["truncate"] is False
    assert from_openai(truncate=True)["truncate"] is True
    assert to_openai(truncate=False) == to_openai()
    with pytest.raises(UnsupportedParameter) as caught:
        to_openai(truncate=True)
    assert caught.value.param == "truncate"
    with pytest.raises(UnsupportedParameter) as caught:
        from_openai(truncate="start")
    assert caught.value.param == "truncate"


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"input_type": "query"}, "input_type"), ({"input": [1, 2]}, "input"), ({"brand_new": 1}, "brand_new")],
)
def test_what_ollama_has_no_like_of_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        from_openai(**fields)
    assert caught.value.param == param


def test_what_only_ollama_knows_is_refused_by_name_elsewhere() -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        to_openai(brand_new=1)
    assert caught.value.param == "brand_new"
    with pytest.raises(UnsupportedParameter) as caught:
        from_openai(EmbeddingAbilities(dimensions=False), dimensions=8)
    assert caught.value.param == "dimensions"


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"input": []}, "input"), ({"input": 7}, "input"), ({"input": ["a", 7]}, "input[1]"), ({"dimensions": -1}, "dimensions")],
)
def test_a_wrong_value_is_refused_by_its_place(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(**fields)
    assert caught.value.param == param


def test_vectors_reach_callers_of_openai_in_either_spelling() -> None:
    for encoding, vector in (("float", [0.5, 1]), ("base64", base64.b64encode(struct.pack("<2f", 0.5, 1)).decode())):
        request = openai.decode_request(body(input=["a", "b"], encoding_format=encoding))
        answer = answered(request, model="theirs", embeddings=[[0.5, 1], [2, 3]], prompt_eval_count=4)
        told = json.loads(openai.write_answer(answer, request, "r"))
        assert [one["index"] for one in told["data"]] == [0, 1]
        assert told["data"][0]["embedding"] == vector
        assert told["usage"] == {"prompt_tokens": 4, "total_tokens": 4}


def test_vectors_reach_callers_of_ollama() -> None:
    request = read(input=["a", "b"])
    packed = base64.b64encode(struct.pack("<2f", 2, 3)).decode()
    data = [{"index": 1, "embedding": packed}, {"index": 0, "embedding": [0.5, 1]}]
    sent = json.dumps({"data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}).encode()
    told = json.loads(ollama.write_answer(openai.read_answer(sent, request), request, "r"))
    assert told == {"model": "m", "embeddings": [[0.5, 1], [2, 3]], "prompt_eval_count": 4}
    unknown = openai.read_answer(json.dumps({"data": data}).encode(), request)
    assert "prompt_eval_count" not in json.loads(ollama.write_answer(unknown, request, "r"))


@pytest.mark.parametrize(
    "wrong",
    [{}, {"embeddings": []}, {"embeddings": [[1], [2]]}, {"embeddings": [7]}, {"embeddings": [[]]}, {"embeddings": 7}],
)
def test_what_is_no_answer_is_the_servers_fault(wrong: dict[str, Any]) -> None:
    with pytest.raises(UpstreamBroken):
        answered(read(), **wrong)


def test_an_error_is_told() -> None:
    with pytest.raises(UpstreamRefused) as caught:
        answered(read(), error="the input length exceeds the context length")
    assert b"context length" in caught.value.body


TEXTS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), min_size=1, max_size=3)
NUMBERS = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=4)


@ENOUGH
@given(TEXTS, st.booleans(), st.integers(1, 999) | st.none(), st.data())
def test_a_request_and_its_answer_are_the_same_behind_openai(
    texts: list[str], single: bool, dimensions: int | None, data: st.DataObject
) -> None:
    asked: dict[str, Any] = {"model": "m", "input": texts[0] if single else texts}
    asked |= {"dimensions": dimensions} if dimensions is not None else {}
    request = ollama.decode_request(json.dumps(asked).encode())
    there = openai.decode_request(openai.encode_request(request, ABLE))
    assert json.loads(ollama.encode_request(there, ABLE)) == {**asked, "truncate": False}
    vectors = [data.draw(NUMBERS) for _ in request.inputs]
    sent = {"model": "m", "embeddings": vectors, "prompt_eval_count": data.draw(st.integers(0, 999))}
    passed = openai.write_answer(ollama.read_answer(json.dumps(sent).encode(), there), there, "r")
    assert json.loads(ollama.write_answer(openai.read_answer(passed, request), request, "r")) == sent
