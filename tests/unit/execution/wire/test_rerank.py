"""Ranking: callers of Cohere's and Jina's dialects in front of servers that speak another."""

import json
from typing import Any

import pytest

from antiphon.core.errors import InvalidRequest, ModelNotFound, UnsupportedParameter, UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.cohere import rerank as cohere
from antiphon.execution.wire.jina import rerank as jina
from antiphon.execution.wire.rerank import RerankRequest
from antiphon.execution.wire.rerank_errors import render_error
from antiphon.execution.wire.tei import rerank as tei
from antiphon.execution.wire.voyage import rerank as voyage

TEXTS = ["red", "green", "blue"]
VENDORS = {"cohere": cohere, "jina": jina, "voyage": voyage, "tei": tei}
EVERY: Any = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
CALLERS: Any = pytest.mark.parametrize("caller", [cohere, jina], ids=["cohere", "jina"])


def asked(caller: Any = jina, **fields: Any) -> RerankRequest:
    request: RerankRequest = caller.decode_request(
        json.dumps({"model": "m", "query": "sea", "documents": TEXTS, **fields}).encode()
    )
    return request


def written(vendor: Any, request: RerankRequest) -> Any:
    return json.loads(vendor.encode_request(request))


def ranked(vendor: Any, *pairs: tuple[int, float]) -> Any:
    """An answer as the vendor writes it."""
    if vendor is tei:
        return [{"index": index, "score": score} for index, score in pairs]
    results = [{"index": index, "relevance_score": score} for index, score in pairs]
    if vendor is cohere:
        return {"id": "x", "results": results, "meta": {"billed_units": {"search_units": 1.0}}}
    named = {"data": results} if vendor is voyage else {"results": results}
    return {"object": "list", "model": "m", **named, "usage": {"total_tokens": 9}}


def read(vendor: Any, value: Any, request: RerankRequest) -> Any:
    return vendor.read_answer(json.dumps(value).encode(), request)


# -- requests


@CALLERS
@EVERY
def test_a_request_reaches_every_vendor(caller: Any, vendor: Any) -> None:
    sent = written(vendor, asked(caller))
    assert sent["query"] == "sea"
    assert sent["texts" if vendor is tei else "documents"] == TEXTS


@CALLERS
def test_documents_may_be_objects_with_a_text(caller: Any) -> None:
    request = asked(caller, documents=[{"text": "red", "id": 7}, "green"])
    assert written(voyage, request)["documents"] == ["red", "green"]


def test_how_many_are_wanted_has_each_vendors_name() -> None:
    request = asked(top_n=2)
    assert written(cohere, request)["top_n"] == 2
    assert written(jina, request)["top_n"] == 2
    assert written(voyage, request)["top_k"] == 2
    assert "top_n" not in written(tei, request)


@CALLERS
@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"documents": []}, "documents"),
        ({"documents": None}, "documents"),
        ({"documents": "red"}, "documents"),
        ({"documents": ["red", 7]}, "documents[1]"),
        ({"documents": ["red", {"image": "x"}]}, "documents[1].text"),
        ({"documents": [{"text": 7}]}, "documents[0].text"),
        ({"query": 7}, "query"),
        ({"query": {"image": "x"}}, "query"),
        ({"top_n": 0}, "top_n"),
        ({"top_n": 2**64}, "top_n"),
        ({"return_documents": "yes"}, "return_documents"),
        ({"model": None}, "model"),
    ],
)
def test_a_wrong_field_is_named(caller: Any, fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as told:
        asked(caller, **fields)
    assert told.value.param == param
    assert told.value.remedy


def test_what_a_vendor_cannot_do_is_refused_by_name() -> None:
    for vendor in (jina, voyage, tei):
        with pytest.raises(UnsupportedParameter) as told:
            vendor.encode_request(asked(max_tokens_per_doc=9))
        assert told.value.param == "max_tokens_per_doc"
    assert written(cohere, asked(max_tokens_per_doc=9))["max_tokens_per_doc"] == 9
    with pytest.raises(UnsupportedParameter) as told:
        cohere.encode_request(asked(truncation=False))
    assert told.value.param == "truncation"
    assert written(tei, asked(truncation=False))["truncate"] is False


@EVERY
def test_a_field_that_nobody_knows_is_refused_by_name_and_a_hint_is_not(vendor: Any) -> None:
    caller = cohere if vendor is jina else jina
    with pytest.raises(UnsupportedParameter) as told:
        vendor.encode_request(asked(caller, rank_fields=["title"]))
    assert told.value.param == "rank_fields"
    assert "priority" not in written(vendor, asked(caller, priority=1, rank_fields=["text"]))


def test_a_field_of_the_servers_own_goes_on() -> None:
    assert written(tei, asked(raw_scores=True))["raw_scores"] is True
    assert written(cohere, asked(cohere, priority=1))["priority"] == 1


# -- answers


@EVERY
def test_the_best_come_first_and_no_more_than_were_asked_for(vendor: Any) -> None:
    request = asked(top_n=2)
    answer = read(vendor, ranked(vendor, (0, 0.1), (2, 0.9), (1, 0.5)), request)
    assert [(result.index, result.score) for result in answer.results] == [(2, 0.9), (1, 0.5)]


@EVERY
@pytest.mark.parametrize("pairs", [[(3, 0.1), (0, 0.2), (1, 0.3)], [(-1, 0.1), (0, 0.2), (1, 0.3)], [(0, 0.1)] * 3, [(0, 0.1)], []])
def test_a_ranking_of_other_documents_is_the_servers_fault(vendor: Any, pairs: list[tuple[int, float]]) -> None:
    with pytest.raises(UpstreamBroken):
        read(vendor, ranked(vendor, *pairs), asked())


@EVERY
@pytest.mark.parametrize("value", [7, "x", None, {"results": 7, "data": 7}, [7], {"results": [{}], "data": [{}]}])
def test_what_is_no_answer_is_told_as_the_servers_fault(vendor: Any, value: Any) -> None:
    with pytest.raises(UpstreamBroken):
        read(vendor, value, asked())


@pytest.mark.parametrize(
    ("vendor", "value"),
    [
        (cohere, {"message": "no credit"}),
        (jina, {"detail": "no credit"}),
        (jina, {"error": {"message": "no credit"}}),
        (voyage, {"detail": "no credit"}),
    ],
)
def test_an_error_under_a_status_of_success_is_an_error(vendor: Any, value: Any) -> None:
    with pytest.raises(UpstreamRefused) as error:
        read(vendor, value, asked())
    assert b"no credit" in error.value.body


def test_usage_and_units_are_told_in_each_dialect() -> None:
    request = asked()
    answer = read(voyage, ranked(voyage, (0, 0.1), (1, 0.2), (2, 0.3)), request)
    assert answer.usage == Usage(9, 0, 9)
    assert json.loads(jina.write_answer(answer, request, "r"))["usage"] == {"total_tokens": 9, "prompt_tokens": 9}
    assert json.loads(cohere.write_answer(answer, request, "r"))["meta"]["tokens"]["input_tokens"] == 9
    answer = read(cohere, ranked(cohere, (0, 0.1), (1, 0.2), (2, 0.3)), request)
    assert json.loads(cohere.write_answer(answer, request, "r"))["meta"]["billed_units"] == {"search_units": 1}
    assert json.loads(jina.write_answer(answer, request, "r"))["meta"]["billed_units"] == {"search_units": 1}


@pytest.mark.parametrize(
    ("caller", "fields", "there"),
    [
        (jina, {}, True),
        (jina, {"return_documents": False}, False),
        (cohere, {}, False),
        (cohere, {"return_documents": True}, True),
    ],
)
def test_documents_come_back_as_the_dialect_has_it(caller: Any, fields: dict[str, Any], there: bool) -> None:
    request = asked(caller, documents=[{"text": "red", "id": 7}, "green"], **fields)
    answer = read(tei, ranked(tei, (0, 0.1), (1, 0.2)), request)
    told = json.loads(caller.write_answer(answer, request, "req_1"))
    assert told["id"] == "req_1"
    documents = [result.get("document") for result in told["results"]]
    assert documents == ([{"text": "green"}, {"text": "red", "id": 7}] if there else [None, None])


def test_errors_are_told_where_both_kinds_of_clients_look() -> None:
    status, body = render_error(ModelNotFound("no such model", remedy="name another", param="model"), "req_1")
    told = json.loads(body)
    assert (status, told["id"], told["code"], told["param"]) == (404, "req_1", "model_not_found", "model")
    assert told["message"] == told["detail"] == "no such model; name another"
    status, body = render_error(UpstreamRefused(429, b'{"detail": "slow down"}'), "req_1")
    assert (status, json.loads(body)["message"]) == (429, "slow down")
