import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon_client.errors import InvalidResponseError
from antiphon_client.transport import events
from antiphon_client.transport.events import Event, EventReader

STREAM = (
    ': keep-alive\n\ndata: {"text": "Grüße, 世界"}\n\n'
    "event: named\ndata: one\ndata:two\nid: 7\nretry: 5\n\n\n\ndata\n\ndata: [DONE]\n\n"
)
EVENTS = [Event("", '{"text": "Grüße, 世界"}'.encode()), Event("named", b"one\ntwo"), Event("", b""), Event("", b"[DONE]")]


def read(pieces: Sequence[bytes]) -> list[Event]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@given(cuts=st.lists(st.integers(0, 200), max_size=12))
def test_events_are_the_same_however_they_are_cut(newline: str, cuts: list[int]) -> None:
    raw = STREAM.replace("\n", newline).encode()
    edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    assert read([raw[start:end] for start, end in itertools.pairwise(edges)]) == EVENTS


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_events_that_come_byte_by_byte(newline: str) -> None:
    raw = STREAM.replace("\n", newline).encode()
    assert read([raw[i : i + 1] for i in range(len(raw))]) == EVENTS


def test_an_event_whose_empty_line_never_came_is_given_at_the_end() -> None:
    reader = EventReader()
    assert reader.feed(b"data: one\n\ndata: two") == [Event("", b"one")]
    assert reader.end() == [Event("", b"two")]
    assert reader.end() == []


def test_an_event_comes_as_soon_as_it_is_whole() -> None:
    reader = EventReader()
    assert reader.feed(b"data: one\r\n\r") == [Event("", b"one")]
    assert reader.feed(b"\ndata: two\r\n\r\n") == [Event("", b"two")]


def test_an_event_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_EVENT", 1000)
    small, huge = EventReader(), EventReader()
    for _ in range(100):
        assert len(small.feed(b"data: " + b"x" * 400 + b"\n\n")) == 1
    with pytest.raises(InvalidResponseError, match="more than"):
        read_endlessly(huge)


def read_endlessly(reader: EventReader) -> None:
    for _ in range(100):
        reader.feed(b"x" * 400)
