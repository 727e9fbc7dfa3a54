"""The SSE codec: whatever the network does to a stream, the events stay the same."""

import itertools
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UpstreamBroken
from antiphon.transport import sse
from antiphon.transport.sse import Event, EventSplitter, encode, parse

STREAM = (
    ': comment\n\ndata: {"text":"Grüße, 世界 🎼"}\n\nevent: note\nid: 7\ndata: a\ndata: b\n\n'
    "data:no space\n\ndata: \n\n: bye\n\ndata: [DONE]\n\n"
).encode()


def feed(stream: bytes, cuts: list[int]) -> list[bytes]:
    splitter = EventSplitter()
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [splitter.feed(stream[a:b]) for a, b in itertools.pairwise(edges)]
    return [*(piece for piece in pieces if piece), *filter(None, [splitter.rest()])]


@given(st.lists(st.integers(0, 1000), max_size=30), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_cut_gives_the_same_bytes_and_only_whole_events(cuts: list[int], newline: bytes) -> None:
    stream = STREAM.replace(b"\n", newline)
    pieces = feed(stream, cuts)
    assert b"".join(pieces) == stream
    assert [event for piece in pieces for event in parse(piece)] == parse(STREAM)


def test_byte_by_byte() -> None:
    pieces = feed(STREAM, list(range(len(STREAM))))
    assert len(pieces) == 7
    assert all(piece.endswith(b"\n\n") for piece in pieces)


def test_parse_reads_fields() -> None:
    assert parse(STREAM) == [
        Event('{"text":"Grüße, 世界 🎼"}'),
        Event("a\nb", "note", "7"),
        Event("no space", "", ""),
        Event(""),
        Event("[DONE]"),
    ]


def test_invalid_utf8_becomes_replacement_characters() -> None:
    assert parse(b"data: a\xff\n\n") == [Event("a�")]


def test_encode_is_what_parse_reads() -> None:
    assert parse(encode(b'{"a":1}')) == [Event('{"a":1}')]


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1000)
    splitter = EventSplitter()
    for _ in range(10):
        splitter.feed(b"data: " + b"x" * 94)
    with pytest.raises(UpstreamBroken, match="event of more than"):
        splitter.feed(b"x")


def test_a_stream_that_ends_inside_an_event_leaves_a_rest() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: a\n\ndata: b") == b"data: a\n\n"
    assert splitter.rest() == b"data: b"
    assert splitter.rest() == b""


def plainly(raw: bytes) -> list[Event]:
    """The events, read line by line as the standard says it."""
    events: list[Event] = []
    data: list[str] = []
    fields: dict[str, str] = {}
    for line in [*re.split(r"\r\n|\n|\r", raw.decode("utf-8", "replace")), ""]:
        name, _, value = line.partition(":")
        if not line:
            events += [Event("\n".join(data), fields.get("event", ""), fields.get("id", ""))] if data else []
            data, fields = [], {}
        elif name == "data":
            data.append(value.removeprefix(" "))
        else:
            fields[name] = value.removeprefix(" ")
    return events


PIECES = st.sampled_from(
    ["\n", "\r", "\r\n", "data", "data:", "data: ", "event: ", "id:", ":", " ", "x", "data: a\n\n", "database: y\n", ": data\n\n"]
)


@given(st.lists(PIECES, max_size=25), st.lists(st.integers(0, 100), max_size=5))
def test_odd_streams_are_read_as_the_standard_says(pieces: list[str], cuts: list[int]) -> None:
    stream = "".join(pieces).encode()
    assert parse(stream) == plainly(stream)
    assert b"".join(sse.split(stream)) == stream
    assert [event for single in sse.split(stream) for event in parse(single)] == plainly(stream)
    fed = feed(stream, cuts)
    assert b"".join(fed) == stream
    assert [event for piece in fed for event in parse(piece)] == plainly(stream)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_empty_lines_are_no_work(end: bytes) -> None:
    """A server may send any number of them: they are one boundary, and no event each."""
    flood = b"data: a" + end * 100_000
    assert list(sse.split(flood + b"data: b" + end * 2)) == [flood, b"data: b" + end * 2]
    assert parse(flood) == [Event("a")]


@pytest.mark.parametrize("line", [b":\n", b"event\n", b"data: x\r\n", b"\r:"])
def test_an_event_of_too_many_lines_is_refused(line: bytes) -> None:
    splitter = EventSplitter()
    splitter.feed(line * (sse.MAX_LINES // 2))
    with pytest.raises(UpstreamBroken, match="more than 50000 lines"):
        splitter.feed(line * (sse.MAX_LINES // 2 + 1))


def test_lines_are_counted_for_each_event() -> None:
    splitter = EventSplitter()
    for _ in range(5):
        half = b"data: x\n" * (sse.MAX_LINES // 2)
        assert splitter.feed(half + b"data") == b""
        assert splitter.feed(b": y\n\n") == half + b"data: y\n\n"


def test_a_stream_in_the_smallest_pieces_takes_no_more_memory_than_its_bytes() -> None:
    splitter = EventSplitter()
    tracemalloc.start()
    try:
        for _ in range(100_000):
            splitter.feed(b"ab")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert splitter.rest() == b"ab" * 100_000
