"""Embeddings and rankings at the door: what the official clients of OpenAI and Cohere make of them, whoever serves them."""

import base64
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cohere
import httpx2
import openai
import pytest
from cohere.core.api_error import ApiError

from antiphon.testing import Body, Cut, Header, MockUpstream, RecordedRequest, Status
from tests.integration.gateway.data_plane import DataPlaneProcess, Running

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "embed-and-rank.md"
Start = Callable[..., Running]
FLOATS = [[0.25, -1.5], [3.0, 0.001]]
PACKED = [base64.b64encode(struct.pack("<2f", *vector)).decode() for vector in FLOATS]
OLLAMAS = {"model": "e", "embeddings": FLOATS, "prompt_eval_count": 4}
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
        ("ollama", OLLAMAS, OLLAMAS, "/v1/api/embed"),
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
        "model": "mock-model", "texts": ["one"], "input_type": "search_query", "embedding_types": ["float"], "truncate": "NONE",
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


def test_ollamas_callers_are_embedded_for_by_every_vendor(start: Start, upstream: MockUpstream) -> None:
    url = start(upstream, protocol="cohere").url
    upstream.script(Body(cohere_answer(float=FLOATS)))
    told = httpx2.post(f"{url}/api/embed", json={"model": "mock-model", "input": ["a", "b"], "truncate": True})
    assert told.json() == {"model": "mock-model", "embeddings": FLOATS, "prompt_eval_count": 4}
    assert upstream.requests[0].json["truncate"] == "END"
    upstream.script(Body(cohere_answer(float=FLOATS[:1])))
    told = httpx2.post(f"{url}/api/embeddings", json={"model": "mock-model", "prompt": "a"})
    assert told.json() == {"embedding": FLOATS[0]}


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


def test_the_rows_of_the_page_serve(tmp_path: Path, upstream: MockUpstream) -> None:
    rows, aliases = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    written = re.sub(r"https?://[a-z0-9.]+(:\d+)?", upstream.url.removesuffix("/v1"), rows + aliases)
    keys = {name: f"key-of-{name}" for name in re.findall(r"\$\{(\w+)\}", rows)}
    process = DataPlaneProcess(written, tmp_path, environ=keys)
    upstream.script(answered, times=None)
    try:
        with process.client() as client, cohere.ClientV2(api_key="k", base_url=process.url) as ranking:
            for model in ("embed-v4.0", "jina-embeddings-v3", "voyage-3.5"):
                assert len(client.embeddings.create(model=model, input=["a", "b"], encoding_format="float").data) == 2
            rankers = [
                "rerank-v3.5",
                "jina-reranker-v2-base-multilingual",
                "rerank-2.5",
                "bge-reranker-v2-m3",
                "qwen3-reranker",
                "rerank",
            ]
            for model in rankers:
                told = ranking.rerank(model=model, query="sea", documents=DOCUMENTS)
                assert [result.index for result in told.results] == [2, 0, 1]
    finally:
        process.stop()
    asked = [(request.path, request.header("authorization")) for request in upstream.requests]
    assert asked[:3] == [
        ("/v2/embed", "Bearer key-of-COHERE_API_KEY"),
        ("/v1/embeddings", "Bearer key-of-JINA_API_KEY"),
        ("/v1/embeddings", "Bearer key-of-VOYAGE_API_KEY"),
    ]
    assert [path for path, _ in asked[3:]] == ["/v2/rerank", "/v1/rerank", "/v1/rerank", "/rerank", "/v1/rerank", "/v2/rerank"]


def answered(request: RecordedRequest) -> tuple[Body]:
    """What a server of any of the vendors would say."""
    if "texts" in request.json and "query" in request.json:
        return (Body(ranked("score")),)
    if "rerank" in request.path:
        return (Body({"results": ranked(), "data": ranked()}),)
    return (Body({**cohere_answer(float=FLOATS), "data": openai_answer(FLOATS)["data"]}),)


def test_a_ranking_falls_back_to_another_vendor(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    process = start(upstream, second, protocol="voyage")
    upstream.script(Cut())
    second.script(Body({"data": ranked()}))
    told = httpx2.post(f"{process.url}/v1/rerank", json={"model": "mock-model", "query": "q", "documents": DOCUMENTS})
    assert [result["index"] for result in told.json()["results"]] == [2, 0, 1]
    assert told.headers["x-antiphon-model"] == "p1/mock-model"


def test_what_a_vendor_cannot_do_is_left_out_where_the_caller_allows_it(start: Start, upstream: MockUpstream) -> None:
    url = start(upstream, protocol="voyage").url
    upstream.script(answered, times=None)
    wish = {"model": "mock-model", "drop_unsupported": True}
    told = httpx2.post(f"{url}/v1/embeddings", json={**wish, "input": ["a", "b"], "task": "clustering", "colour": "red"})
    assert told.status_code == 200
    assert told.headers["x-antiphon-dropped"] == "input_type, colour"
    assert upstream.requests[-1].json == {"model": "mock-model", "input": ["a", "b"], "truncation": False}
    told = httpx2.post(f"{url}/v1/rerank", json={**wish, "query": "q", "documents": DOCUMENTS, "max_tokens_per_doc": 9})
    assert told.headers["x-antiphon-dropped"] == "max_tokens_per_doc"
    assert upstream.requests[-1].json == {"model": "mock-model", "query": "q", "documents": DOCUMENTS}
    told = httpx2.post(f"{url}/v1/embeddings", json={**wish, "input": [1, 2]})
    assert (told.status_code, told.json()["error"]["param"]) == (400, "input")


def test_names_of_models_are_translated_both_ways(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, protocol="jina", models=[{"name": "mock-model", "upstream": "its-own-name"}])
    upstream.script(lambda request: (Body({**answered(request)[0].data, "model": request.json["model"]}),), times=None)
    assert process.client().embeddings.create(model="mock-model", input=["a", "b"]).model == "mock-model"
    told = httpx2.post(f"{process.url}/v1/rerank", json={"model": "mock-model", "query": "q", "documents": DOCUMENTS})
    assert told.json()["model"] == "mock-model"
    assert [request.json["model"] for request in upstream.requests] == ["its-own-name"] * 2
