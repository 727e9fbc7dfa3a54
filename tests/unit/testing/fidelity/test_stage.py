"""The scripted server plays the case whose mark a request has, and no other."""

import http.client
import json
from email.utils import parsedate_to_datetime
from time import time

import pytest

from antiphon.core.errors import ConfigError
from antiphon.testing import Body, Event, Status
from antiphon.testing.fidelity.case import EMBEDDINGS, RESPONSES, Case, IfUsageAsked, RetryOn, Scene, Until
from antiphon.testing.fidelity.stage import Stage, seconds_to_close
from antiphon.testing.fidelity.words import openai


@pytest.fixture
def stage():
    with Stage() as running:
        yield running


def case(*acts, **more):
    return Case(**{"id": "a-case", "right": "It is.", "body": openai.ask(), "scene": Scene(acts), "checks": (), **more})


def post(stage, body, path="/v1/chat/completions"):
    connection = http.client.HTTPConnection("127.0.0.1", stage.port, timeout=10)
    try:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_each_request_gets_the_script_of_its_own_case(stage):
    first, second = stage.open(case(Body("one"))), stage.open(case(Body("two")))
    assert post(stage, second.body("m"))[2] == b"two"
    assert post(stage, first.body("m"))[2] == b"one"
    assert (len(first.asked), len(second.asked)) == (1, 1)
    assert json.loads(first.sent()[0]) == {"model": "m", **openai.ask()}


def test_a_request_without_a_mark_that_is_played_is_refused(stage):
    play = stage.open(case(Body("one")))
    stage.close(play)
    for body in (b"{}", b"[[fidelity:a-case:ffff]]", play.body("m")):
        status, _, answer = post(stage, body)
        assert (status, b"no_case" in answer) == (400, True)
    assert play.asked == []


def test_a_case_is_played_at_its_own_path(stage):
    play = stage.open(case(Body("vectors"), route=EMBEDDINGS))
    status, _, answer = post(stage, play.body("m"))
    assert (status, b"is played at /v1/embeddings" in answer, play.asked) == (404, True, [])
    assert post(stage, play.body("m"), "/v1/embeddings")[2] == b"vectors"


def test_responses_are_played_at_both_endpoints(stage):
    play = stage.open(case(Body("translated"), route=RESPONSES, native=Scene((Body("passed on"),))))
    assert post(stage, play.body("m"))[2] == b"translated"
    assert post(stage, play.body("m"), "/v1/responses")[2] == b"passed on"


def test_the_usage_is_told_where_it_is_asked_for(stage):
    acts = Event("text"), IfUsageAsked(Event("usage"))
    assert b"usage" not in post(stage, stage.open(case(*acts)).body("m"))[2]
    asking = stage.open(case(*acts, body=openai.stream(usage=True)))
    assert b"usage" in post(stage, asking.body("m"))[2]


def test_a_date_to_retry_lies_ahead(stage):
    play = stage.open(case(Status(429), RetryOn(60), Body("{}")))
    status, headers, _ = post(stage, play.body("m"))
    assert status == 429
    assert 55 < parsedate_to_datetime(headers["retry-after"]).timestamp() - time() < 65


def test_the_server_waits_for_the_caller(stage):
    play = stage.open(case(Event("first"), Until("first"), Event("second")))
    connection = http.client.HTTPConnection("127.0.0.1", stage.port, timeout=10)
    connection.request("POST", "/v1/chat/completions", play.body("m"))
    answer = connection.getresponse()
    assert answer.readline() == b"data: first\n"
    assert play.waits
    play.seen(b"data: fir")
    assert play.waits
    play.seen(b"data: first\n")
    assert not play.waits
    assert b"second" in answer.read()
    play.give_up()
    assert not play.held_back
    connection.close()


def test_what_is_given_up_was_held_back(stage):
    play = stage.open(case(Event("first"), Until("first")))
    play.give_up()
    assert (play.waits, play.held_back) == (False, True)


def test_who_was_asked_and_who_left(stage):
    play = stage.open(case(Event("first"), Until("never")))
    assert not play.wait_asked(0.01)
    connection = http.client.HTTPConnection("127.0.0.1", stage.port, timeout=10)
    connection.request("POST", "/v1/chat/completions", play.body("m"))
    assert play.wait_asked(5)
    began = play.asked[0].received_at
    assert seconds_to_close(play.asked, began, 0.1) is None
    connection.close()
    waited = seconds_to_close(play.asked, began, 5.0)
    assert waited is not None
    assert 0.0 <= waited < 5.0


def test_a_port_that_is_taken_is_told_with_a_remedy(stage):
    with pytest.raises(ConfigError, match="--mock-port") as told, Stage(stage.port):
        pass
    assert str(stage.port) in told.value.message
