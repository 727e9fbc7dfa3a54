"""Answers as servers write them: whatever comes, it is an answer or an error of the client's own."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon_client import (
    BadRequestError,
    ChatCompletion,
    InvalidResponseError,
    NotFoundError,
    ParseError,
    RateLimitError,
    ResponseInfo,
    errors,
)
from antiphon_client.answers import reader
from antiphon_client.embeddings import EmbeddingList
from antiphon_client.embeddings import _read as read_embeddings
from antiphon_client.errors import AntiphonClientError, Details, of_status
from antiphon_client.rerank import Ranking
from antiphon_client.transport.said_errors import SaidError
from tests.unit.client.odd_json import JSON, places

INFO = ResponseInfo(200, {}, "req-1")
WHOLE: dict[str, Any] = {
    "id": "c1", "object": "chat.completion", "created": 7, "model": "m", "mood": "calm",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi", "note": 1}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.5},
}  # fmt: skip


def read(told: Any) -> ChatCompletion:
    return reader(ChatCompletion)(json.dumps(told).encode(), INFO)


def test_fields_without_a_name_are_kept_where_they_stood() -> None:
    answer = read(WHOLE)
    assert answer.extra == {"mood": "calm"}
    assert answer.message.extra == {"note": 1}
    assert answer.usage is not None
    assert answer.usage.extra == {"cost": 0.5}
    assert json.loads(answer.raw) == WHOLE


def test_a_null_stands_for_a_field_that_is_not_there() -> None:
    message = {"role": None, "content": "Hi", "tool_calls": None, "thinking_blocks": None}
    answer = read(
        {**WHOLE, "id": None, "created": 7.0, "choices": [{"index": None, "message": message}], "usage": {"prompt_tokens": None}}
    )
    assert (answer.text, answer.message.role, answer.tool_calls, answer.created) == ("Hi", "assistant", (), 7)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"7", b'{"choices": 7}', b'{"id": "x"}', b"\xff", b"[" * 100_000])
def test_what_is_no_answer_is_told_with_a_remedy(body: bytes) -> None:
    for kind in (reader(ChatCompletion), read_embeddings, reader(Ranking), reader(EmbeddingList)):
        with pytest.raises(InvalidResponseError) as told:
            kind(body, INFO)
        assert told.value.remedy


@given(place=st.sampled_from(places(WHOLE)), value=JSON)
def test_an_answer_with_anything_anywhere_is_read_or_refused(place: tuple[Any, ...], value: Any) -> None:
    told = json.loads(json.dumps(WHOLE))
    inner = told
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        answer = read(told)
    except InvalidResponseError:
        return
    assert isinstance(answer.text, str)
    assert isinstance(answer.message.to_dict()["role"], str)


@given(JSON)
def test_an_error_body_of_any_kind_becomes_words(value: Any) -> None:
    for told in (value, {"error": value}, {"error": {"message": value, "code": value, "param": value, "remedy": value}}):
        said = SaidError.of(json.dumps(told).encode(), ResponseInfo(500, {}, ""), "http://host")
        assert isinstance(said.message, str)
        assert said.message


def test_our_servers_error_is_taken_apart() -> None:
    message = 'model "x" is not in the catalogue; known: a; list all with GET /v1/models'
    error = {"message": message, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
    body = json.dumps({"error": {**error, "remedy": "list all with GET /v1/models"}, "request_id": "req-2"}).encode()
    said = SaidError.of(body, ResponseInfo(404, {}, ""), "http://host")
    assert said == SaidError(
        'model "x" is not in the catalogue; known: a', "list all with GET /v1/models", "model_not_found", "invalid_request_error",
        "model", "req-2",
    )  # fmt: skip


def test_pages_and_redirects_of_others_are_told_in_short() -> None:
    def told(status: int, body: bytes, **headers: str) -> str:
        return SaidError.of(body, ResponseInfo(status, headers, ""), "http://host").message

    assert told(502, b"<html>Bad Gateway</html>") == "the server at http://host answered with status 502"
    assert told(502, b"upstream\n is  away") == "the server at http://host answered with status 502: upstream is away"
    assert told(307, b"", location="https://other") == "the server at http://host sends us to https://other"
    assert told(400, b'{"error": "no such thing"}') == "no such thing"


def test_errors_by_status() -> None:
    assert of_status(400) is BadRequestError
    assert of_status(404) is NotFoundError
    assert of_status(429) is RateLimitError
    assert of_status(529) is errors.InternalServerError
    assert of_status(418) is errors.APIStatusError


def test_an_error_says_what_to_do_and_under_which_id_it_is_logged() -> None:
    details = Details(remedy="wait", status=429, code="limit", request_id="req-1", attempts=3, retry_after=7.0, body=b"secret")
    error = RateLimitError("too many calls", details)
    assert str(error) == "too many calls; wait (status 429, request req-1, 3 attempts)"
    assert repr(error) == "RateLimitError('too many calls', status=429, code='limit', request_id='req-1')"
    assert str(ParseError("no JSON")) == "no JSON"


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(NotFoundError("no", Details(status=404, code="x"))))
    assert (error.message, error.status, error.code) == ("no", 404, "x")
    parse_error = pickle.loads(pickle.dumps(ParseError("no", Details(request_id="r"), "text")))
    assert (parse_error.text, parse_error.request_id) == ("text", "r")


def test_every_error_is_one_of_ours_and_documented() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert all(issubclass(kind, AntiphonClientError) and kind.__doc__ for kind in classes)
