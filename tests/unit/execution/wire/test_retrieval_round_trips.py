"""Embeddings and rankings that go through another dialect mean what they meant; whatever is odd is refused, never a crash."""

import base64
import json
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.cohere import embeddings as cohere_embeddings
from antiphon.execution.wire.cohere import rerank as cohere_rerank
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingAnswer, EmbeddingRequest, vector_of
from antiphon.execution.wire.gemini import embeddings as gemini_embeddings
from antiphon.execution.wire.jina import embeddings as jina_embeddings
from antiphon.execution.wire.jina import rerank as jina_rerank
from antiphon.execution.wire.openai import embeddings as openai
from antiphon.execution.wire.rerank import Ranked, RerankAnswer, RerankRequest
from antiphon.execution.wire.tei import rerank as tei_rerank
from antiphon.execution.wire.voyage import embeddings as voyage_embeddings
from antiphon.execution.wire.voyage import rerank as voyage_rerank
from tests.unit.execution.wire.cases import cases

CASES = cases(0.5)
FEWER = cases(0.2)
ABLE = EmbeddingAbilities()
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TOKENS = st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=4)
EMBEDDING = st.fixed_dictionaries(
    {"model": TEXT, "input": TEXT | st.lists(TEXT, min_size=1, max_size=4) | TOKENS | st.lists(TOKENS, min_size=1, max_size=3)},
    optional={
        "dimensions": st.integers(1, 4096),
        "encoding_format": st.sampled_from(["float", "base64"]),
        "user": TEXT,
        "input_type": st.sampled_from(sorted(openai.TASKS)),
        "truncate": st.booleans() | st.sampled_from(["NONE", "START", "END"]),
        "late_chunking": st.booleans(),
        "colour": JSON,
    },
)
FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
VECTORS = st.integers(1, 4).flatmap(lambda size: st.lists(st.lists(FLOAT, min_size=size, max_size=size), min_size=1, max_size=4))
DOCUMENT = TEXT | st.builds(lambda text, more: {**more, "text": text}, TEXT, st.dictionaries(TEXT, JSON, max_size=2))
RERANK = st.fixed_dictionaries(
    {"model": TEXT, "query": TEXT, "documents": st.lists(DOCUMENT, min_size=1, max_size=5)},
    optional={
        "top_n": st.integers(1, 9),
        "return_documents": st.booleans(),
        "truncation": st.booleans(),
        "priority": st.integers(),
    },
)
Write = Callable[[EmbeddingRequest, EmbeddingAbilities], bytes]
EMBEDDERS: dict[str, Write] = {
    "openai": openai.encode_request,
    "cohere": cohere_embeddings.encode_request,
    "gemini": gemini_embeddings.encode_request,
    "jina": jina_embeddings.encode_request,
    "voyage": voyage_embeddings.encode_request,
}
RANKERS: dict[str, Any] = {"cohere": cohere_rerank, "jina": jina_rerank, "voyage": voyage_rerank, "tei": tei_rerank}


def json_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def read_as(vendor: str, value: Any, request: EmbeddingRequest) -> EmbeddingAnswer:
    read = {"cohere": cohere_embeddings.read_answer, "gemini": gemini_embeddings.read_answer}.get(vendor, openai.read_answer)
    return read(json_of(value), request)


def spelled(vendor: str, vectors: list[list[float]], packs: bool) -> Any:
    """The vectors in the answer of a vendor, in another order where it numbers them."""
    if vendor == "gemini":
        return {"embeddings": [{"values": vector} for vector in vectors], "usageMetadata": {"promptTokenCount": 3}}
    written: list[Any] = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in vectors] if packs else list(vectors)
    if vendor == "cohere":
        return {"embeddings": {"base64" if packs else "float": written}, "meta": {"billed_units": {"input_tokens": 3}}}
    items = [{"index": index, "embedding": vector} for index, vector in enumerate(written)]
    return {"data": items[::-1], "usage": {"total_tokens": 3}}


def said_to(vendor: str, sent: Any) -> tuple[str, Any]:
    """The model and the texts in a request to a vendor."""
    if vendor == "gemini":
        (model,) = {one["model"] for one in sent["requests"]}
        return model.removeprefix("models/"), [one["content"]["parts"][0]["text"] for one in sent["requests"]]
    return sent["model"], sent["texts"] if vendor == "cohere" else sent["input"]


def sent_or_refused(write: Callable[[], bytes]) -> tuple[Any, str | None]:
    """What goes to the server, or the field that is refused."""
    try:
        return json.loads(write()), None
    except InvalidRequest as error:
        return None, error.param or "nothing named"


@CASES
@given(EMBEDDING, st.sampled_from(sorted(EMBEDDERS)))
def test_each_text_reaches_the_server_as_it_was_or_is_refused_by_name(asked: dict[str, Any], vendor: str) -> None:
    request = openai.decode_request(json_of(asked))
    sent, refused = sent_or_refused(lambda: EMBEDDERS[vendor](request, ABLE))
    if refused is not None:
        assert refused in {*asked, "input"}
        return
    model, texts = said_to(vendor, sent)
    assert texts == asked["input"] or texts == [asked["input"]]
    assert model == asked["model"]
    assert asked.get("colour") is None or sent["colour"] == json.loads(json_of(asked["colour"]))


@CASES
@given(VECTORS, st.sampled_from(sorted(EMBEDDERS)), st.booleans(), st.sampled_from(["float", "base64"]))
def test_each_vector_reaches_its_caller_as_it_was(vectors: list[list[float]], vendor: str, packs: bool, wanted: str) -> None:
    asked = {"model": "m", "input": ["text"] * len(vectors), "encoding_format": wanted}
    request = openai.decode_request(json_of(asked))
    answer = read_as(vendor, spelled(vendor, vectors, packs), request)
    told = json.loads(openai.write_answer(answer, request, "r"))
    assert [item["index"] for item in told["data"]] == list(range(len(vectors)))
    for item, vector in zip(told["data"], vectors, strict=True):
        got = item["embedding"]
        if wanted == "base64":
            got = list(struct.unpack(f"<{len(vector)}f", base64.b64decode(got)))
        assert got == vector
    assert told["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
    again = openai.read_answer(json_of(told), request)
    assert json.loads(openai.write_answer(again, request, "r")) == told


@CASES
@given(RERANK, st.sampled_from(["cohere", "jina"]), st.sampled_from(sorted(RANKERS)), st.data())
def test_each_ranking_reaches_its_caller_as_it_was(asked: dict[str, Any], caller: str, vendor: str, data: st.DataObject) -> None:
    request: RerankRequest = RANKERS[caller].decode_request(json_of(asked))
    sent, refused = sent_or_refused(lambda: RANKERS[vendor].encode_request(request))
    if refused is not None:
        assert refused in asked
        return
    texts = [document if isinstance(document, str) else document["text"] for document in asked["documents"]]
    assert sent["texts" if vendor == "tei" else "documents"] == texts
    scores = data.draw(st.lists(FLOAT, min_size=len(texts), max_size=len(texts)))
    score = "score" if vendor == "tei" else "relevance_score"
    found = [{"index": index, score: value} for index, value in enumerate(scores)]
    answer = RANKERS[vendor].read_answer(json_of(found if vendor == "tei" else {"results": found, "data": found}), request)
    told = json.loads(RANKERS[caller].write_answer(answer, request, "r"))["results"]
    assert len(told) == min(len(texts), asked.get("top_n", len(texts)))
    assert [result["relevance_score"] for result in told] == sorted(scores, reverse=True)[: len(told)]
    for result in told:
        assert result["relevance_score"] == scores[result["index"]]
        document = asked["documents"][result["index"]]
        expected = {"text": document} if isinstance(document, str) else document
        assert "document" not in result or result["document"] == json.loads(json_of(expected))


@CASES
@given(EMBEDDING | st.dictionaries(st.sampled_from(["model", "input", "dimensions", "task", "truncate", "user"]), JSON), st.data())
def test_no_odd_request_for_embeddings_is_a_crash(asked: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["model", "input", "dimensions", "encoding_format", "input_type", "truncate", "x"]))
    with suppress(InvalidRequest):
        request = openai.decode_request(json_of({**asked, name: data.draw(JSON)}))
        for write in EMBEDDERS.values():
            with suppress(InvalidRequest):
                write(request, ABLE)


@CASES
@given(RERANK, st.data())
def test_no_odd_request_for_a_ranking_is_a_crash(asked: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["model", "query", "documents", "top_n", "return_documents", "rank_fields", "x"]))
    body = json_of({**asked, name: data.draw(JSON)})
    for caller in ("cohere", "jina"):
        with suppress(InvalidRequest):
            request = RANKERS[caller].decode_request(body)
            for vendor in RANKERS.values():
                with suppress(InvalidRequest):
                    vendor.encode_request(request)


@CASES
@given(VECTORS, st.sampled_from(sorted(EMBEDDERS)), st.data())
def test_no_odd_answer_is_a_crash(vectors: list[list[float]], vendor: str, data: st.DataObject) -> None:
    request = openai.decode_request(json_of({"model": "m", "input": ["text"] * len(vectors), "encoding_format": "base64"}))
    value = mutated(spelled(vendor, vectors, data.draw(st.booleans())), data)
    with suppress(UpstreamBroken, UpstreamRefused):
        openai.write_answer(read_as(vendor, value, request), request, "r")


@CASES
@given(st.sampled_from(sorted(RANKERS)), st.data())
def test_no_odd_ranking_is_a_crash(vendor: str, data: st.DataObject) -> None:
    request = jina_rerank.decode_request(json_of({"model": "m", "query": "q", "documents": ["a", "b"]}))
    found: Any = [{"index": 0, "relevance_score": 1, "score": 1}, {"index": 1, "relevance_score": 0.5, "score": 0}]
    whole = {"results": found, "data": found, "usage": {"total_tokens": 1}, "meta": {"billed_units": {"search_units": 1}}}
    value = mutated(found if vendor == "tei" else whole, data)
    with suppress(UpstreamBroken, UpstreamRefused):
        answer = RANKERS[vendor].read_answer(json_of(value), request)
        jina_rerank.write_answer(answer, request, "r")
        cohere_rerank.write_answer(answer, request, "r")


@FEWER
@given(st.binary(max_size=40))
def test_no_bytes_at_all_are_a_crash(raw: bytes) -> None:
    for decode in (openai.decode_request, jina_rerank.decode_request, cohere_rerank.decode_request):
        with suppress(InvalidRequest):
            decode(raw)
    request = openai.decode_request(b'{"model":"m","input":"a"}')
    for read in (openai.read_answer, cohere_embeddings.read_answer):
        with suppress(UpstreamBroken, UpstreamRefused):
            read(raw, request)
    ranking = jina_rerank.decode_request(b'{"model":"m","query":"q","documents":["a"]}')
    for vendor in RANKERS.values():
        with suppress(UpstreamBroken, UpstreamRefused):
            vendor.read_answer(raw, ranking)


def mutated(value: Any, data: st.DataObject) -> Any:
    """The value with something in it exchanged for anything."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 3)):
        name = data.draw(st.sampled_from(sorted(value)))
        return {**value, name: mutated(value[name], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 3)):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(value[place], data), *value[place + 1 :]]
    return data.draw(JSON)


def test_a_written_answer_reads_the_same_again() -> None:
    request = openai.decode_request(b'{"model":"m","input":["a"]}')
    answer = EmbeddingAnswer((vector_of(msgspec.Raw(b"[1.5]")),), Usage(1, 0, 1))
    assert openai.read_answer(openai.write_answer(answer, request, "r"), request) == answer
    ranking = jina_rerank.decode_request(b'{"model":"m","query":"q","documents":["a"]}')
    ranked = RerankAnswer((Ranked(0, 0.5),), Usage(1, 0, 1), 1)
    assert jina_rerank.read_answer(jina_rerank.write_answer(ranked, ranking, "r"), ranking).results == ranked.results
    assert cohere_rerank.read_answer(cohere_rerank.write_answer(ranked, ranking, "r"), ranking) == ranked
