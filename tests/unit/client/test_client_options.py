import pytest

from antiphon_client import ConfigurationError
from antiphon_client.chat.params import ChatParams
from antiphon_client.options import LONGEST, CallOptions, Options
from antiphon_client.params import take

ASK = {"model": "m", "messages": []}


def test_a_call_goes_by_its_client_unless_it_says_otherwise() -> None:
    client = Options().changed({"timeout": 20, "deadline": 60, "max_retries": 5, "headers": {"X-Team": "a", "X-More": "b"}})
    call = client.changed({"deadline": None, "extra_headers": {"x-team": "c"}, "request_id": "req-1"})
    assert (call.timeout, call.deadline, call.max_retries) == (20.0, None, 5)
    assert call.headers == {"x-team": "c", "x-more": "b"}
    assert call.request_id == "req-1"
    assert client.headers == {"x-team": "a", "x-more": "b"}


def test_none_waits_as_long_as_a_socket_can() -> None:
    assert Options().changed({"timeout": None}).timeout == LONGEST
    assert Options().changed({"timeout": float("inf")}).timeout == LONGEST


@pytest.mark.parametrize(
    ("told", "param"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": "1"}, "deadline"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"max_retries": True}, "max_retries"),
        ({"headers": {"a b": "c"}}, "headers"),
        ({"headers": {"host": "elsewhere"}}, "headers"),
        ({"extra_headers": {"x-a": "b\r\nx-c: d"}}, "headers"),
        ({"extra_headers": {"x-a": 7}}, "headers"),
        ({"request_id": "x" * 129}, "request_id"),
        ({"request_id": "a\nb"}, "request_id"),
        ({"idempotency_key": "ü"}, "idempotency_key"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name_with_a_remedy(told: dict[str, object], param: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Options().changed(told)
    assert refused.value.param == param
    assert refused.value.remedy


def test_arguments_are_taken_apart() -> None:
    given = {**ASK, "temperature": 0.5, "seed": None, "timeout": 5, "max_retries": 0, "extra_body": {"guided": True, "seed": 7}}
    params = take(given, ChatParams, Options())
    assert params.body == {**ASK, "temperature": 0.5, "guided": True, "seed": 7}
    assert (params.options.timeout, params.options.max_retries) == (5.0, 0)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({**ASK, "temprature": 1}, ChatParams, "did you mean 'temperature'"),
        ({**ASK, "guided_json": {}}, ChatParams, "extra_body"),
        ({**ASK, "stream": True}, ChatParams, "unknown argument 'stream'"),
        ({"model": "m"}, ChatParams, "'messages' is missing"),
        ({"model": None, "messages": []}, ChatParams, "'model' is missing"),
        ({"extra_body": {}}, CallOptions, "unknown argument 'extra_body'"),
    ],
)
def test_arguments_that_are_wrong_are_told_as_a_plain_function_would(given: dict[str, object], kind: object, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        take(given, kind, Options())
