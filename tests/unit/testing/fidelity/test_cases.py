"""The cases as data: each can be played, explained and found."""

import re
from collections import Counter

import pytest

from antiphon.testing.fidelity.case import CHAT, MARK, ROUTES, Until
from antiphon.testing.fidelity.cases import CASES, GROUPS
from antiphon.testing.fidelity.outcome import Answer, Miss, Outcome
from antiphon.testing.fidelity.stage import Play
from antiphon.testing.steps import Body, Event, payload

LAZY = {
    "nothing": Answer(fault="closed"),
    "an empty answer": Answer(200),
    "an empty object": Answer(200, ((b"content-type", b"application/json"),), b"{}"),
    "an empty stream": Answer(200, ((b"content-type", b"text/event-stream"),), b"data: [DONE]\n\n"),
    "an error of no shape": Answer(500, (), b"Internal Server Error"),
    "a page": Answer(404, ((b"content-type", b"text/html"),), b"<html></html>"),
}
"""What a gateway might answer whatever it is asked."""


def passes(case, outcome):
    try:
        for check in case.checks:
            check(outcome)
    except Miss:
        return False
    return True


def test_there_are_enough_for_a_gateway_that_offers_nothing_but_chat():
    assert sum(case.route is CHAT for case in CASES) >= 120


def test_ids_are_unique_and_begin_with_the_name_of_their_group():
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert [case.id for group in GROUPS for case in group.cases if not case.id.startswith(f"{group.name}-")] == []
    assert [case.id for case in CASES if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", case.id)] == []


def test_each_says_in_a_sentence_what_is_right_and_each_group_where_that_is_written():
    assert [case.id for case in CASES if not (case.right.endswith(".") and case.right[0] in case.right[0].upper() + "`")] == []
    assert [group.name for group in GROUPS if not (group.sources and group.about.endswith("."))] == []
    assert {case.route for case in CASES} == set(ROUTES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_can_be_found_and_missed(case):
    body = Play(case).body("some-model")
    if isinstance(case.body, dict):
        assert body.count(b"[[fidelity:") == 1, "its mark is in the request, once"
        assert b"[[fidelity]]" not in body
    assert b"[[model]]" not in body
    said = b"".join(payload(act) for act in case.scene.acts if isinstance(act, Body | Event))
    assert all(act.text.encode() in said for act in case.scene.acts if isinstance(act, Until) and act.text != "never")
    asked = {"callers": case.route.callers, "server": case.route.server, "streamed": case.streamed}
    passed = [name for name, answer in LAZY.items() if passes(case, Outcome(answer=answer, **asked))]
    assert len(passed) <= 1, "an error is right where an error is due, and nothing else is right whatever is asked"


def test_the_mark_of_a_play_is_its_own():
    first, second = Play(CASES[0]), Play(CASES[0])
    assert first.mark != second.mark
    assert first.mark in first.body("m")
    assert MARK.encode() not in first.body("m")
