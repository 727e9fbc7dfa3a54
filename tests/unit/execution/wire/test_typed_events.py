"""Streams of events with a type, on their way from speech, transcription and images: what is watched, and what is not touched."""

import json
from typing import Any

import pytest

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire.openai.typed_events import TypedWatch, read_answer

DELTA = {"type": "transcript.text.delta", "delta": "Grüße"}
LAST = {"type": "transcript.text.done", "text": "Grüße", "usage": {"input_tokens": 14, "output_tokens": 3, "total_tokens": 17}}


def events(*told: Any) -> bytes:
    return b"".join(b"event: x\ndata: " + json.dumps(one).encode() + b"\n\n" for one in told)


def test_events_go_on_as_they_came_and_the_last_tells_the_usage() -> None:
    watch = TypedWatch()
    raw = events(DELTA, LAST)
    assert watch.take(raw) == raw
    assert (watch.begun, watch.ended, watch.failure) == (True, False, None)
    assert watch.finish() == b""
    assert watch.usage() == Usage(14, 3, 17)


@pytest.mark.parametrize("kind", ["speech.audio.done", "image_generation.completed", "image_edit.completed"])
def test_each_kind_of_stream_has_an_end_of_its_own(kind: str) -> None:
    watch = TypedWatch()
    watch.take(events({"type": kind}))
    assert (watch.finish(), watch.usage()) == (b"", None)


def test_several_images_are_counted_together() -> None:
    watch = TypedWatch()
    counts = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    watch.take(events(*({"type": "image_generation.completed", "usage": counts} for _ in range(2))))
    assert watch.usage() == Usage(2, 4, 6)


def test_done_ends_a_stream_and_nothing_behind_it_is_passed_on() -> None:
    watch = TypedWatch()
    assert watch.take(events(DELTA) + b"data: [DONE]\n\n" + events(DELTA)) == events(DELTA) + b"data: [DONE]\n\n"
    assert watch.ended


@pytest.mark.parametrize("raw", [b"", b": comment\n\n", events(DELTA), events(7), b"data: {\n\n"])
def test_a_stream_in_which_nothing_came_to_its_end_is_cut_off(raw: bytes) -> None:
    watch = TypedWatch()
    assert watch.take(raw) == raw
    with pytest.raises(UpstreamBroken, match="cut off"):
        watch.finish()


@pytest.mark.parametrize("error", [{"error": {"message": "no sound", "code": 422}}, {"type": "error", "message": "no sound"}])
def test_an_error_inside_ends_it_behind_what_came_before(error: dict[str, Any]) -> None:
    watch = TypedWatch()
    assert watch.take(events(DELTA, error, DELTA)) == events(DELTA)
    assert watch.failure is not None
    assert b"no sound" in watch.failure.body
    assert watch.failure.status == (422 if "error" in error else 502)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 50, "output_tokens": 100, "total_tokens": 150}, Usage(50, 100, 150)),
        ({"input_tokens": 5, "output_tokens": 7}, Usage(5, 7, 12)),
        ({"type": "duration", "seconds": 3}, None),
        ({"input_tokens": -1}, None),
        (None, None),
        ("many", None),
    ],
)
def test_an_answer_in_one_piece_tells_what_was_used(usage: Any, expected: Usage | None) -> None:
    assert read_answer(json.dumps({"text": "a", "usage": usage}).encode()) == (expected, None)


def test_an_answer_in_one_piece_may_tell_an_error() -> None:
    failure = read_answer(b'{"error": {"message": "no"}}')[1]
    assert failure is not None
    assert failure.status == 502
