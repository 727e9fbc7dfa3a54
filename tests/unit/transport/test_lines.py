"""Lines of JSON: whatever the network does to a stream, the lines stay the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UpstreamBroken
from antiphon.transport import lines
from antiphon.transport.lines import LineSplitter

STREAM = '{"text":"Grüße, 世界 🎼"}\n\n{"text":"a\\nb"}\n{"done":true}\n'.encode()


def feed(stream: bytes, cuts: list[int]) -> list[bytes]:
    splitter = LineSplitter()
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [splitter.feed(stream[a:b]) for a, b in itertools.pairwise(edges)]
    return [*(piece for piece in pieces if piece), *filter(None, [splitter.rest()])]


@given(st.lists(st.integers(0, 1000), max_size=30), st.sampled_from([b"\n", b"\r\n"]))
def test_any_cut_gives_the_same_bytes_and_only_whole_lines(cuts: list[int], newline: bytes) -> None:
    stream = STREAM.replace(b"\n", newline)
    pieces = feed(stream, cuts)
    assert b"".join(pieces) == stream
    assert all(piece.endswith(newline) for piece in pieces)
    told = [line.strip() for piece in pieces for line in lines.split(piece)]
    assert [line for line in told if line] == [line for line in STREAM.split(b"\n") if line]


def test_byte_by_byte() -> None:
    assert feed(STREAM, list(range(len(STREAM)))) == STREAM.splitlines(keepends=True)


def test_a_line_that_never_ends_is_what_is_left() -> None:
    assert feed(STREAM + b'{"half', []) == [STREAM, b'{"half']
    assert list(lines.split(b'a\n{"half')) == [b"a\n", b'{"half']


def test_what_is_left_is_given_once() -> None:
    splitter = LineSplitter()
    splitter.feed(b"half")
    assert (splitter.rest(), splitter.rest()) == (b"half", b"")


def test_encode_is_what_split_reads() -> None:
    assert list(lines.split(lines.encode(b'{"a":1}') + lines.encode(b"{}"))) == [b'{"a":1}\n', b"{}\n"]


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 1000)
    splitter = LineSplitter()
    for _ in range(10):
        splitter.feed(b"x" * 100)
    with pytest.raises(UpstreamBroken, match="a line of more than"):
        splitter.feed(b"x")


def test_many_lines_in_one_piece_are_no_long_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 10)
    assert LineSplitter().feed(b"12345678\n" * 100) == b"12345678\n" * 100


def test_empty_lines_are_no_work() -> None:
    """A server may send any number of them."""
    assert list(lines.split(b"\n" * 100_000)) == [b"\n" * 100_000]
    flood = b'{"a":1}\n' + b"\r\n" * 100_000 + b"{}\n\n"
    assert list(lines.split(flood)) == [flood[:-4], b"{}\n\n"]
