"""Embeddings of Gemini's models for callers of OpenAI's dialect, each request held to the types of Google's own client."""

import json
from typing import Any

import pytest
from google.genai import types

from antiphon.core.errors import InvalidRequest, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingRequest
from antiphon.execution.wire.gemini import embeddings as gemini
from antiphon.execution.wire.openai import embeddings as openai

ABLE = EmbeddingAbilities()


def asked(**fields: Any) -> EmbeddingRequest:
    return openai.decode_request(json.dumps({"model": "gemini-embedding-001", "input": ["a", "b"], **fields}).encode())


def sent(abilities: EmbeddingAbilities = ABLE, /, **fields: Any) -> list[dict[str, Any]]:
    told = json.loads(gemini.encode_request(asked(**fields), abilities))
    assert told.keys() == {"requests"}
    for one in told["requests"]:
        types.Content.model_validate(one["content"])
        types.EmbedContentConfig.model_validate({name: one[name] for name in one.keys() - {"model", "content"}})
    requests: list[dict[str, Any]] = told["requests"]
    return requests


def answered(value: Any, **fields: Any) -> Any:
    request = asked(**fields)
    return json.loads(openai.write_answer(gemini.read_answer(json.dumps(value).encode(), request), request, "r"))


def test_texts_go_out_in_one_request_each_with_all_settings() -> None:
    common = {"model": "models/gemini-embedding-001", "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 256}
    told = sent(input_type="query", dimensions=256, user="u", encoding_format="base64")
    assert told == [{**common, "content": {"parts": [{"text": text}]}} for text in ("a", "b")]
    assert sent(input="a") == [{"model": "models/gemini-embedding-001", "content": {"parts": [{"text": "a"}]}}]


@pytest.mark.parametrize("task", sorted(set(openai.TASKS)))
def test_every_purpose_has_a_name(task: str) -> None:
    assert sent(input_type=task)[0]["taskType"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": [1, 2]}, "input"),
        ({"truncate": True}, "truncate"),
        ({"dimensions": 5}, "dimensions"),
        ({"late_chunking": True}, "late_chunking"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as told:
        sent(EmbeddingAbilities(dimensions=False), **fields)
    assert told.value.param == param


def test_vectors_and_what_was_used() -> None:
    value = {"embeddings": [{"values": [0.25, -1e-05]}, {"values": [1, 2]}], "usageMetadata": {"promptTokenCount": 7}}
    told = answered(value)
    assert [item["embedding"] for item in told["data"]] == [[0.25, -1e-05], [1, 2]]
    assert told["usage"] == {"prompt_tokens": 7, "total_tokens": 7}


@pytest.mark.parametrize("usage", [None, 7, {}, {"promptTokenCount": -1}, {"promptTokenCount": "x"}])
def test_what_is_no_count_is_not_told_on(usage: Any) -> None:
    body = json.dumps({"embeddings": [{"values": [1]}, {"values": [2]}], "usageMetadata": usage}).encode()
    assert gemini.read_answer(body, asked()).usage in (None, Usage())


def test_an_error_is_told_in_its_words() -> None:
    body = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "3s"}]}}
    with pytest.raises(UpstreamRefused) as told:
        answered(body)
    assert (told.value.status, told.value.retry_after) == (429, 3.0)


@pytest.mark.parametrize(
    "value", [{}, [], {"embeddings": []}, {"embeddings": [{"values": [1]}]}, {"embeddings": [{}, {"values": ["x"]}]}]
)
def test_what_is_no_answer(value: Any) -> None:
    with pytest.raises(UpstreamBroken):
        answered(value)
