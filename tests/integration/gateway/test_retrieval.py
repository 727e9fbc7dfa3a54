"""Embeddings and rankings at the door: what the official clients of OpenAI and Cohere make of them, whoever serves them."""

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any

import cohere
import httpx2
import openai
import pytest
from cohere.core.api_error import ApiError

from antiphon.testing import Body, Cut, Header, MockUpstream, Status
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
FLOATS = [[0.25, -1.5], [3.0, 0.001]]
PACKED = [base64.b64encode(struct.pack("<2f", *vector)).decode() for vector in FLOATS]
DOCUMENTS = ["red", "green", "blue"]
BEST = [(2, 0.9), (0, 0.5), (1, 0.25)]


def openai_answer(vectors: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "e", "usage": {"prompt_tokens": 4, "total_tokens": 4}}


def cohere_answer(**vectors: Any) -> dict[str, Any]:
    return {
        "id": "x", "embeddings": vectors, "texts": [], "response_type": "embeddings_by_type",
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 4}},
    }  # fmt: skip


EMBEDDERS: Any = pytest.mark.parametrize(
    ("protocol", "floats", "packed", "path"),
    [
        ("openai", openai_answer(FLOATS), openai_answer(PACKED), "/v1/embeddings"),
        ("jina", openai_answer(FLOATS), openai_answer(PACKED), "/v1/embeddings"),
        ("voyage", openai_answer(FLOATS), openai_answer(PACKED), "/v1/embeddings"),
        ("cohere", cohere_answer(float=FLOATS), cohere_answer(base64=PACKED), "/v1/v2/embed"),
    ],
)


@EMBEDDERS
def test_embeddings_from_every_vendor(
    start: Start, upstream: MockUpstream, protocol: str, floats: Any, packed: Any, path: str
) -> None:
    """The client asks for base64 where its user says nothing, and unpacks what it gets."""
    client = start(upstream, protocol=protocol, key="sk-up").client()
    upstream.script(lambda request: (Body(packed if b"base64" in request.body else floats),), times=None)
    unpacked: Any = [pytest.approx(vector) for vector in FLOATS]
    rows: Any = ((openai.omit, unpacked), ("float", unpacked), ("base64", PACKED))
    for wanted, expected in rows:
        told = client.embeddings.create(model="mock-model", input=["one", "two"], dimensions=2, encoding_format=wanted)
        assert [item.embedding for item in told.data] == expected
        assert (told.usage.prompt_tokens, told.usage.total_tokens) == (4, 4)
        request = upstream.requests[-1]
        assert (request.path, request.header("authorization")) == (path, "Bearer sk-up")
        assert request.json["texts" if protocol == "cohere" else "input"] == ["one", "two"]


def test_a_server_that_packs_nothing_is_packed_for(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, protocol="voyage").client()
    upstream.script(Body(openai_answer(FLOATS)))
    told = client.embeddings.create(model="mock-model", input=["one", "two"], encoding_format="base64")
    vectors: list[Any] = [item.embedding for item in told.data]
    assert vectors == PACKED


def test_what_vectors_are_for_reaches_the_vendor(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, protocol="cohere").client()
    upstream.script(Body(cohere_answer(float=FLOATS[:1])))
    client.embeddings.create(model="mock-model", input="one", encoding_format="float", extra_body={"input_type": "query"})
    assert upstream.requests[0].json == {
        "model": "mock-model", "texts": ["one"], "input_type": "search_query", "embedding_types": ["float"],
    }  # fmt: skip


def test_what_a_vendor_cannot_do_is_refused_before_it_is_asked(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, protocol="voyage").client()
    with pytest.raises(openai.BadRequestError) as told:
        client.embeddings.create(model="mock-model", input=[1, 2, 3])
    assert told.value.param == "input"
    with pytest.raises(openai.BadRequestError) as told:
        client.embeddings.create(model="mock-model", input="a", extra_body={"colour": "red"})
    assert told.value.param == "colour"
    with pytest.raises(openai.BadRequestError, match="does not serve /v1/chat/completions"):
        client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": "hello"}])
    assert upstream.requests == []


@pytest.mark.parametrize("answer", [{"data": []}, {"data": [{"embedding": "x"}]}, [], {"embeddings": {"float": [[1], [2]]}}])
@pytest.mark.parametrize("protocol", ["cohere", "jina"])
def test_what_is_no_answer_is_an_error_and_no_crash(start: Start, upstream: MockUpstream, protocol: str, answer: Any) -> None:
    client = start(upstream, protocol=protocol).client()
    upstream.script(Body(answer))
    with pytest.raises(openai.InternalServerError) as told:
        client.embeddings.create(model="mock-model", input="one")
    assert told.value.status_code == 502
    assert told.value.code == "upstream_truncated"


def test_a_vendors_error_comes_in_the_callers_shape(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, protocol="cohere").client()
    upstream.script(Status(429), Header("retry-after", "7"), Body({"message": "slow down", "id": "x"}))
    with pytest.raises(openai.RateLimitError, match="slow down") as told:
        client.embeddings.create(model="mock-model", input="one")
    assert told.value.response.headers["retry-after"] == "7"


# -- ranking


def ranked(score: str = "relevance_score") -> list[dict[str, Any]]:
    return [{"index": index, score: value} for index, value in BEST]


RANKERS: Any = pytest.mark.parametrize(
    ("protocol", "answer", "path"),
    [
        ("cohere", {"id": "x", "results": ranked(), "meta": {"billed_units": {"search_units": 1}}}, "/v1/v2/rerank"),
        ("jina", {"model": "r", "results": ranked(), "usage": {"total_tokens": 9}}, "/v1/rerank"),
        ("voyage", {"object": "list", "data": ranked(), "model": "r", "usage": {"total_tokens": 9}}, "/v1/rerank"),
        ("tei", ranked("score"), "/v1/rerank"),
        ("openai", {"model": "r", "results": ranked(), "usage": {"total_tokens": 9}}, "/v1/rerank"),
    ],
)


@pytest.fixture
def row(start: Start, upstream: MockUpstream) -> Callable[[str], Running]:
    """Starts a data plane in front of a server of a protocol that ranks."""
    return lambda protocol: start(upstream, protocol=protocol, capabilities={"rerank": True})


@RANKERS
def test_coheres_client_gets_rankings_from_every_vendor(
    row: Callable[[str], Running], upstream: MockUpstream, protocol: str, answer: Any, path: str
) -> None:
    upstream.script(Body(answer))
    with cohere.ClientV2(api_key="k", base_url=row(protocol).url) as client:
        told = client.v2.rerank(model="mock-model", query="sea", documents=DOCUMENTS, top_n=2 if protocol == "tei" else 3)
    expected = BEST[:2] if protocol == "tei" else BEST
    assert [(result.index, result.relevance_score) for result in told.results] == expected
    (request,) = upstream.requests
    assert request.path == path
    assert request.json["texts" if protocol == "tei" else "documents"] == DOCUMENTS
    assert request.json["query"] == "sea"


@RANKERS
def test_coheres_older_client_gets_rankings_from_every_vendor(
    row: Callable[[str], Running], upstream: MockUpstream, protocol: str, answer: Any, path: str
) -> None:
    """It calls the path that Jina's callers call too."""
    upstream.script(Body(answer))
    documents: Any = [{"text": text} for text in DOCUMENTS]
    with cohere.Client(api_key="k", base_url=row(protocol).url) as client:
        told = client.rerank(model="mock-model", query="sea", documents=documents, return_documents=True)
    assert [(result.index, result.relevance_score) for result in told.results] == BEST
    assert upstream.requests[0].path == path
    if protocol not in ("jina", "openai"):  # whose answers go on as they came
        assert [result.document.text for result in told.results if result.document] == ["blue", "red", "green"]


@pytest.mark.parametrize("protocol", ["jina", "openai"])
def test_jinas_own_answer_goes_on_untouched(row: Callable[[str], Running], upstream: MockUpstream, protocol: str) -> None:
    body = b'{"model": "other",  "results": [{"index":0,"relevance_score":1e-1}], "more": [1, 2]}'
    upstream.script(Body(body))
    asked = b'{"model":"mock-model", "query":{"image":"x"},"documents":["a"],"unheard-of":1}'
    told = httpx2.post(f"{row(protocol).url}/v1/rerank", content=asked)
    assert told.content == body
    assert upstream.requests[0].body == asked


def test_coheres_own_answer_goes_on_untouched(row: Callable[[str], Running], upstream: MockUpstream) -> None:
    body = b'{"id":"x",  "results": [{"index":0,"relevance_score":0.5,"relevant_spans":[]}]}'
    upstream.script(Body(body))
    asked = b'{"model":"mock-model", "query":"q","documents":["a"],"relevant_spans":{"x":1}}'
    told = httpx2.post(f"{row('cohere').url}/v2/rerank", content=asked)
    assert told.content == body
    assert upstream.requests[0].body == asked


@pytest.fixture
def asking(row: Callable[[str], Running]) -> Iterator[cohere.ClientV2]:
    """Cohere's client, in front of Voyage's servers."""
    with cohere.ClientV2(api_key="k", base_url=row("voyage").url) as client:
        yield client


def test_errors_are_told_where_coheres_client_looks(asking: cohere.ClientV2, upstream: MockUpstream) -> None:
    with pytest.raises(cohere.NotFoundError) as missing:
        asking.v2.rerank(model="nobody", query="sea", documents=DOCUMENTS)
    assert "nobody" in str(missing.value.body)
    with pytest.raises(cohere.BadRequestError) as wrong:
        asking.v2.rerank(model="mock-model", query="sea", documents=[])
    body: Any = wrong.value.body
    assert body["param"] == "documents"
    assert "empty" in body["message"]
    upstream.script(Status(429), Header("retry-after", "7"), Body({"detail": "slow down"}), times=None)
    with pytest.raises(cohere.TooManyRequestsError) as slow:
        asking.v2.rerank(model="mock-model", query="sea", documents=DOCUMENTS, request_options={"max_retries": 0})
    assert "slow down" in str(slow.value.body)


def test_jinas_callers_hear_what_is_wrong_in_detail(row: Callable[[str], Running], upstream: MockUpstream) -> None:
    url = row("cohere").url
    told = httpx2.post(f"{url}/v1/rerank", json={"model": "mock-model", "query": "q", "documents": ["a", 7]})
    assert (told.status_code, told.json()["param"]) == (400, "documents[1]")
    assert "documents[1]" in told.json()["detail"]
    upstream.script(Body({"results": [{"index": 5, "relevance_score": 1}]}))
    told = httpx2.post(f"{url}/v1/rerank", json={"model": "mock-model", "query": "q", "documents": ["a"]})
    assert told.status_code == 502
    assert "not given" in told.json()["detail"]


def test_a_model_that_does_not_rank_says_so(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream)
    with cohere.ClientV2(api_key="k", base_url=process.url) as client, pytest.raises(ApiError) as told:
        client.v2.rerank(model="mock-model", query="sea", documents=DOCUMENTS)
    body: Any = told.value.body
    assert told.value.status_code == 400
    assert "does not serve /v2/rerank" in body["message"]
    assert upstream.requests == []


def test_a_ranking_falls_back_to_another_vendor(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    process = start(upstream, second, protocol="voyage")
    upstream.script(Cut())
    second.script(Body({"data": ranked()}))
    told = httpx2.post(f"{process.url}/v1/rerank", json={"model": "mock-model", "query": "q", "documents": DOCUMENTS})
    assert [result["index"] for result in told.json()["results"]] == [2, 0, 1]
    assert told.headers["x-antiphon-model"] == "p1/mock-model"
