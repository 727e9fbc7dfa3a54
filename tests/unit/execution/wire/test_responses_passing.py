"""Responses of servers that speak the dialect themselves, and what a conversation keeps of those that do not."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire.chat import Thinking
from antiphon.execution.wire.responses import conversation, ids, thoughts
from antiphon.execution.wire.responses.passing import Watch, for_server, read_passed

USAGE = {
    "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15,
}  # fmt: skip
USED = Usage(10, 5, 15, 4, 2)
OURS = ids.new()


def event(name: str, **told: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json.dumps({"type": name, **told}).encode())


CREATED = event("response.created", response={"id": "resp_1", "status": "in_progress", "usage": None})
DELTA = event("response.output_text.delta", delta="Grü")
COMPLETED = event("response.completed", response={"id": "resp_1", "status": "completed", "usage": USAGE, "error": None})


def test_a_stream_goes_on_as_it_came() -> None:
    watch = Watch(False)
    seen = [
        (watch.take(raw), watch.begun, watch.ended) for raw in (CREATED, b": alive\n\n", DELTA * 2, COMPLETED + b"data: [DONE]\n\n")
    ]
    assert seen == [
        (CREATED, False, False), (b": alive\n\n", False, False), (DELTA * 2, True, False), (COMPLETED, True, True),
    ]  # fmt: skip
    assert watch.usage() == USED


def test_an_answer_that_is_cut_short_by_its_length_is_an_end() -> None:
    watch = Watch(False)
    last = event("response.incomplete", response={"usage": {"input_tokens": 1}})
    assert watch.take(last) == last
    assert watch.usage() == Usage(1, 0, 1)


def test_a_stream_without_its_end_was_cut_off() -> None:
    watch = Watch(False)
    watch.take(CREATED + DELTA)
    with pytest.raises(UpstreamBroken, match="cut off"):
        watch.finish()


FAILED = event("response.failed", response={"error": {"code": "server_error", "message": "no"}})


@pytest.mark.parametrize(
    ("last", "status", "error"),
    [
        (
            event("error", code="rate_limit_exceeded", message="slow"),
            429,
            {"code": "rate_limit_exceeded", "message": "slow", "param": None},
        ),
        (event("error", error={"message": "bad", "code": 7}), 502, {"message": "bad", "code": 7}),
        (
            event("response.failed", response={"error": None}),
            502,
            {"message": "the model's server could not complete its response"},
        ),
        (FAILED, 500, {"code": "server_error", "message": "no"}),
    ],
)
def test_an_error_inside_a_stream_is_told_behind_all_that_came_before(last: bytes, status: int, error: dict[str, Any]) -> None:
    watch = Watch(False)
    assert watch.take(CREATED + last + DELTA) == CREATED
    assert watch.failure is not None
    assert (watch.failure.status, watch.failure.dialect) == (status, "responses")
    assert json.loads(watch.failure.body) == {"error": error}


def test_a_response_that_has_failed_in_the_middle_says_so_in_its_servers_words() -> None:
    watch = Watch(False)
    assert watch.take(DELTA + FAILED + DELTA) == DELTA + FAILED
    assert watch.failure is not None
    assert not watch.ended


def test_a_whole_response() -> None:
    assert read_passed(json.dumps({"id": "resp_1", "usage": USAGE, "error": None}).encode()) == (USED, None)
    usage, failure = read_passed(b'{"status": "failed", "error": {"message": "no"}, "usage": 7}')
    assert usage is None
    assert failure is not None
    assert json.loads(failure.body) == {"error": {"message": "no"}}


def test_a_request_with_nothing_of_ours_stays_as_it_is() -> None:
    for body in (
        b'{ "model": "m", "input":"the map_api of an app" }',
        b'{ "input": [ {"id": "msg_1", "role": "user", "content": "antiphon. %b" } ] }' % OURS.encode(),
        b'{ "input": [ 7, {"type": "reasoning", "encrypted_content": "antiphon.x" } ], "previous_response_id": "resp_68af" }',
    ):
        assert for_server(body) is body


def test_a_server_sees_none_of_our_names_and_thoughts() -> None:
    packed = thoughts.pack(Thinking("hm", "s"))
    answer = {"type": "message", "id": ids.of_output("msg", OURS, 1), "role": "assistant", "content": []}
    items = [
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "reasoning", "id": ids.of_output("rs", OURS, 0), "summary": [], "encrypted_content": packed},
        answer,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
    ]
    told = json.loads(for_server(json.dumps({"model": "m", "previous_response_id": OURS, "input": items}).encode()))
    del answer["id"]
    assert told == {"model": "m", "input": [items[0], answer, items[3]]}


def test_names_tell_what_they_belong_to() -> None:
    assert ids.is_ours(OURS)
    assert ids.new() != ids.new()
    assert not ids.is_ours("resp_68af")
    for item in (ids.of_output("msg", OURS, 0), ids.of_input("fco", OURS, 12)):
        assert ids.response_of(item) == OURS
    assert ids.response_of("msg_68af") == ""


def kept(*items: Any) -> list[dict[str, Any]]:
    asked = conversation.read_asked(json.dumps({"input": list(items)}).encode())
    told: list[dict[str, Any]] = json.loads(conversation.kept_input(asked.items, OURS))
    return told


def items_of(*items: Any) -> list[msgspec.Raw]:
    return conversation.asked_and_answered(json.dumps(items).encode(), b"{}")[0]


def test_what_was_asked_is_kept_in_full() -> None:
    asked = conversation.read_asked(b'{"input": "hi"}')
    (item,) = json.loads(conversation.kept_input(asked.items, OURS))
    name = ids.of_input("msg", OURS, 0)
    whole = {
        "type": "message",
        "id": name,
        "role": "user",
        "status": "completed",
        "content": [{"type": "input_text", "text": "hi"}],
    }
    assert item == whole
    assert kept({"role": "user", "content": "hi"}) == [whole]
    assert kept({"type": "message", "role": "assistant", "content": "hi", "id": "msg_1", "status": None})[0] == {
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}],
    }  # fmt: skip
    assert kept({"type": "reasoning", "encrypted_content": "x"})[0]["summary"] == []
    assert conversation.kept_input((), OURS) == b"[]"


def test_items_can_be_named_in_place_of_being_given() -> None:
    name, other = ids.of_output("msg", OURS, 0), ids.of_output("fc", ids.new(), 1)
    given = [{"type": "item_reference", "id": name}, {"role": "user", "content": "hi"}, {"id": other}, {"id": "msg_68af"}]
    body = json.dumps({"input": given}).encode()
    asked = conversation.read_asked(body)
    named = conversation.references(asked, body)
    assert named == {0: name, 2: other}
    items = conversation.by_name(items_of({"id": name, "a": 1}, {"id": other, "b": 2}))
    told = json.loads(conversation.expanded(body, conversation.resolved(asked, named, items)))["input"]
    assert told == [{"id": name, "a": 1}, given[1], {"id": other, "b": 2}, given[3]]
    with pytest.raises(InvalidRequest, match="not found") as refused:
        conversation.resolved(asked, named, {})
    assert refused.value.param == "input[0].id"


@pytest.mark.parametrize(
    ("after", "limit", "latest_first", "names", "more"),
    [
        ("", 10, False, "abcd", False),
        ("", 2, True, "dc", True),
        ("c", 2, True, "ba", False),
        ("b", 1, False, "c", True),
        ("d", 5, False, "", False),
    ],
)
def test_pages(after: str, limit: int, latest_first: bool, names: str, more: bool) -> None:
    items = items_of(*({"id": name} for name in "abcd"))
    page = json.loads(conversation.page(items, after=after, limit=limit, latest_first=latest_first))
    assert "".join(item["id"] for item in page["data"]) == names
    assert (page["first_id"], page["last_id"]) == ((names[0], names[-1]) if names else (None, None))
    assert page["has_more"] is more


def test_a_page_behind_an_item_that_is_not_there() -> None:
    with pytest.raises(InvalidRequest, match="no item"):
        conversation.page([], after="x", limit=1, latest_first=True)
