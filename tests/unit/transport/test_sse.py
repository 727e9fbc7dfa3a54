"""The SSE codec: whatever the network does to a stream, the events stay the same."""

import itertools

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
