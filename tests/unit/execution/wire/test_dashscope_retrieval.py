"""DashScope's endpoints that embed texts and rank documents: callers of OpenAI's and Jina's dialects in front of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UnsupportedParameter, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.dashscope.retrieval import EMBEDDING, RERANK
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingRequest
from antiphon.execution.wire.jina import rerank as jina
from antiphon.execution.wire.openai import embeddings as openai
from antiphon.execution.wire.rerank import Ranked, RerankRequest

ABLE = EmbeddingAbilities(token_ids=False)
TEXTS = ["red", "green", "blue"]


def asked(**fields: Any) -> EmbeddingRequest:
    return openai.decode_request(json.dumps({"model": "text-embedding-v4", "input": TEXTS, **fields}).encode())


def to_rank(**fields: Any) -> RerankRequest:
    told = {"model": "qwen3-rerank", "query": "sea", "documents": TEXTS, **fields}
    return jina.decode_request(json.dumps(told).encode())


def embedded(value: Any, request: EmbeddingRequest | None = None) -> Any:
    return EMBEDDING.read_answer(json.dumps(value).encode(), request or asked())


def ranked(value: Any, request: RerankRequest | None = None) -> Any:
    return RERANK.read_answer(json.dumps(value).encode(), request or to_rank())


def test_texts_are_in_an_envelope() -> None:
    assert json.loads(EMBEDDING.encode_request(asked(), ABLE)) == {"model": "text-embedding-v4", "input": {"texts": TEXTS}}
    fields = {"dimensions": 64, "input_type": "query", "instruct": "find it", "encoding_format": "base64", "truncate": False}
    assert json.loads(EMBEDDING.encode_request(asked(**fields), ABLE))["parameters"] == {
        "text_type": "query",
        "dimension": 64,
        "instruct": "find it",
    }


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input_type": "clustering"}, "input_type"),
        ({"truncate": True}, "truncate"),
        ({"input": [[1, 2]]}, "input"),
        ({"output_type": "sparse"}, "output_type"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        EMBEDDING.encode_request(asked(**fields), ABLE)
    assert refused.value.param == param


def test_a_size_that_the_model_cannot_give_is_refused() -> None:
    with pytest.raises(UnsupportedParameter):
        EMBEDDING.encode_request(asked(dimensions=64), EmbeddingAbilities(dimensions=False))


@given(st.permutations([(0, "[0.5]"), (1, "[1.25e-3]"), (2, "[-2]")]))
def test_vectors_come_back_in_order_with_every_digit(found: list[tuple[int, str]]) -> None:
    told = ",".join(f'{{"text_index":{index},"embedding":{numbers}}}' for index, numbers in found)
    body = f'{{"output":{{"embeddings":[{told}]}},"usage":{{"total_tokens":4}},"request_id":"r"}}'.encode()
    answer = EMBEDDING.read_answer(body, asked())
    assert [bytes(vector.as_numbers()) for vector in answer.vectors] == [b"[0.5]", b"[1.25e-3]", b"[-2]"]
    assert answer.usage == Usage(4, 0, 4)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"output": {}},
        {"output": {"embeddings": [{"text_index": 0, "embedding": [1]}]}},
        {"output": {"embeddings": [{"text_index": 0, "embedding": [1]}] * 3}},
        {"output": {"embeddings": [{"text_index": place} for place in range(3)]}},
        {"output": []},
    ],
)
def test_what_is_no_answer_is_told_as_the_servers_fault(value: Any) -> None:
    with pytest.raises(UpstreamBroken):
        embedded(value)


def test_an_odd_count_is_not_told() -> None:
    vectors = [{"text_index": place, "embedding": [1]} for place in range(3)]
    assert embedded({"output": {"embeddings": vectors}, "usage": {"total_tokens": "four"}}).usage is None


@pytest.mark.parametrize(("code", "status"), [("InvalidParameter", 400), ("Throttling.RateQuota", 429), ("Odd", 500)])
def test_an_error_under_a_status_of_success_is_an_error(code: str, status: int) -> None:
    for read in (embedded, ranked):
        with pytest.raises(UpstreamRefused) as refused:
            read({"code": code, "message": "no", "request_id": "r"})
        assert refused.value.status == status


def test_documents_are_ranked() -> None:
    request = to_rank(top_n=2, instruct="find it")
    assert json.loads(RERANK.encode_request(request)) == {
        "model": "qwen3-rerank",
        "input": {"query": "sea", "documents": TEXTS},
        "parameters": {"top_n": 2, "instruct": "find it"},
    }
    found = [{"index": 2, "relevance_score": 0.25}, {"index": 0, "relevance_score": 0.75, "document": {"text": "red"}}]
    answer = ranked({"output": {"results": found}, "usage": {"total_tokens": 79}, "request_id": "r"}, request)
    assert answer.results == (Ranked(0, 0.75), Ranked(2, 0.25))
    assert answer.usage == Usage(79, 0, 79)


@pytest.mark.parametrize("fields", [{"truncation": False}, {"max_tokens_per_doc": 9}, {"other": 1}])
def test_what_a_ranking_cannot_do_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        RERANK.encode_request(to_rank(**fields))
    assert refused.value.param == next(iter(fields))


def test_a_ranking_of_other_documents_is_none() -> None:
    with pytest.raises(UpstreamBroken):
        ranked({"output": {"results": [{"index": 7, "relevance_score": 1}]}})
