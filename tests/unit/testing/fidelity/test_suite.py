"""How cases are played. The gateway of these tests is the scripted server itself, which passes on everything and mends nothing."""

import asyncio
import time
from contextlib import contextmanager

import pytest

from antiphon.core.errors import SetupError, Unauthenticated, UpstreamUnreachable
from antiphon.testing import Body, Hang, MockUpstream
from antiphon.testing.fidelity import CASES, Gateway, Stage, Suite
from antiphon.testing.fidelity.case import Beside, Case, Crowd, Leave, Scene, Until
from antiphon.testing.fidelity.checks import asked, closed_soon, not_held_back, others_go_on, says
from antiphon.testing.fidelity.words.openai import ask, stream, streamed, text, whole


@pytest.fixture
def stage():
    with Stage() as running:
        yield running


@contextmanager
def before(stage, url=""):
    yield Suite(Gateway(url or f"http://127.0.0.1:{stage.port}"), stage)


def play(stage, **case):
    with before(stage) as suite:
        return asyncio.run(suite.play(Case(**{"id": "a-case", "right": "It is.", "checks": (), **case})))


def test_a_case_is_passed_or_missed_with_a_reason(stage):
    right = play(stage, body=ask(), scene=whole("Yes."), checks=(says("Yes."), asked(1)))
    wrong = play(stage, body=ask(), scene=whole("Yes."), checks=(says("Yes."), says("No."), asked(7)))
    assert (right.id, right.ok, right.why) == ("a-case", True, "")
    assert (wrong.ok, wrong.why) == (False, 'the text is "Yes.", not "No."')


def test_results_come_in_the_order_of_the_cases_whatever_runs_first(stage):
    cases = [case for case in CASES if case.id in ("leave-silence", "stream-text", "size-event-others", "whole-text")]
    heard = []
    with before(stage) as suite:
        report = asyncio.run(suite.run(cases, heard.append))
    assert [result.id for result in report.cases] == [case.id for case in cases]
    assert (report.passed, report.failed, len(heard)) == (4, 0, 4)


def test_a_caller_leaves_when_it_has_read_enough(stage):
    scene = Scene((*streamed(*text("one", " two")).acts[:3], Hang()))
    assert play(stage, body=stream(), scene=scene, caller=Leave("two"), checks=(closed_soon, asked(1))).ok
    assert play(stage, body=stream(), scene=Scene((Hang(),)), caller=Leave(), checks=(closed_soon,)).ok
    never = play(stage, body=stream(), scene=streamed(*text("one")), caller=Leave("two"), checks=(), limit=5.0)
    assert 'never came to "two"' in never.why


def test_an_answer_that_does_not_end_is_a_miss_after_its_limit(stage):
    began = time.monotonic()
    result = play(stage, body=ask(), scene=Scene((Hang(),)), limit=0.3)
    assert "not complete within 0.3 s" in result.why
    assert time.monotonic() - began < 10


def test_a_server_that_waits_for_its_caller_is_served_at_once(stage):
    scene = streamed(*text("first"), Until("first"), *text(" second"))
    assert play(stage, body=stream(), scene=scene, checks=(says("first second"), not_held_back)).ok


def test_small_questions_go_on_beside_large_answers_and_crowds(stage):
    large = streamed(*text("x" * 100_000))
    assert play(stage, body=stream(), scene=large, caller=Beside(), checks=(says("x" * 100_000), others_go_on)).ok
    crowd = streamed(*text(*["x" * 65_536] * 20))
    assert play(stage, body=stream(), scene=crowd, caller=Crowd(5, 65_536), checks=(asked(5), closed_soon, others_go_on)).ok
    few = play(stage, body=stream(), scene=streamed(*text("x")), caller=Crowd(2, 65_536), limit=5.0)
    assert "not all of 2 streams came so far" in few.why


def test_a_gateway_offers_what_reaches_the_server(stage):
    with before(stage) as suite:
        cases, absent = asyncio.run(suite.offers(CASES))
    assert {case.route.name for case in cases} == {"chat", "completions", "embeddings", "messages-on-anthropic", "responses"}
    assert {route.name for route, _ in absent} == {"chat-on-anthropic", "messages", "ollama"}
    assert len(cases) + sum(count for _, count in absent) == len(CASES)


def test_it_is_said_why_the_suite_cannot_run(stage):
    with before(stage) as suite:
        asyncio.run(suite.greet())
    with before(stage, "http://127.0.0.1:1") as suite, pytest.raises(UpstreamUnreachable, match="no gateway answers"):
        asyncio.run(suite.greet())
    with MockUpstream() as other, before(stage, other.url) as suite:
        other.error(401, "no such key")
        with pytest.raises(Unauthenticated, match="--key"):
            asyncio.run(suite.greet())
        other.script(Body({"choices": []}))
        with pytest.raises(SetupError, match="does not send the model"):
            asyncio.run(suite.greet())
