import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.execution.engine_host.sequence import TextSequence, Token

END = 999


def sequence(tokens, stops=(), logprobs=False):
    """A sequence whose token ids are positions in ``tokens``."""
    return TextSequence(lambda token: b"" if token == END else tokens[token], stops, logprobs, frozenset({END}))


sizes = st.lists(st.integers(0, 4), max_size=20)
"""Sizes of the first pieces that something is cut into; what is left is one more."""


def cut(data, sizes):
    """``data`` in pieces, some of them empty as control tokens are."""
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


def play(tokens, steps, stops=(), logprobs=False):
    """All pieces of a sequence that is said in steps of several tokens."""
    said = sequence(tokens, stops, logprobs)
    pieces = [said.push(ids, [-1.0] * len(ids)) for ids in cut(list(range(len(tokens))), steps)]
    return said, [*pieces, said.finish("length")]


@given(st.text(max_size=30), st.booleans(), sizes, sizes)
def test_any_cut_of_any_text_gives_the_text(text, logprobs, pieces, steps):
    _, out = play(cut(text.encode(), pieces), steps, logprobs=logprobs)
    assert "".join(piece.text for piece in out) == text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=30), sizes)
def test_a_character_that_is_on_its_way_never_shows_as_a_replacement(text, pieces):
    said = sequence(cut(text.encode(), pieces))
    assert not any("\ufffd" in said.push([token], []).text for token in range(len(pieces) + 1))


@given(st.binary(max_size=30), st.booleans(), sizes, sizes)
def test_any_bytes_read_as_they_would_at_once(raw, logprobs, pieces, steps):
    _, out = play(cut(raw, pieces), steps, logprobs=logprobs)
    assert "".join(piece.text for piece in out) == raw.decode(errors="replace")


@given(st.binary(max_size=30), st.lists(st.text("ab\ufffd\x80é", min_size=1, max_size=3), max_size=2), sizes, sizes)
def test_tokens_go_out_with_the_text_that_they_touch(raw, stops, pieces, steps):
    tokens = cut(raw, pieces)
    said, pieces = play(tokens, steps, stops, logprobs=True)
    whole = raw.decode(errors="replace")
    text, out = "", []
    for piece in pieces:
        text += piece.text
        out += piece.tokens
        if piece.reason:
            break
        assert all(token.end <= len(text) for token in out)
    assert whole.startswith(text)
    assert [token.data for token in out] == tokens[: len(out)]
    if "stop" in [piece.reason for piece in pieces]:
        assert all(token.start < len(text) or token.end <= len(text) for token in out)
        assert len(out) <= said.count
    else:
        assert len(out) == len(tokens)
        assert text == whole


def test_an_emoji_over_four_tokens_shows_once_and_whole():
    said = sequence([bytes((byte,)) for byte in "🎉".encode()])
    assert [said.push([token], []).text for token in range(4)] == ["", "", "", "🎉"]


def test_a_cut_character_at_the_end_becomes_one_replacement():
    said = sequence([b"ok \xf0\x9f"])
    assert said.push([0], []).text == "ok "
    ending = said.finish("length")
    assert (ending.text, ending.reason) == ("\ufffd", "length")


def test_the_log_probability_of_a_cut_character_comes_with_it():
    said = sequence([b"\xf0\x9f", b"\x8e\x89!"], logprobs=True)
    assert said.push([0], [-1.0]).tokens == []
    piece = said.push([1], [-2.0])
    assert piece.text == "🎉!"
    assert [token.logprob for token in piece.tokens] == [-1.0, -2.0]
    assert [token.start for token in piece.tokens] == [0, 0]


def test_a_stop_inside_a_step_of_several_tokens():
    said = sequence([b"one", b" S", b"TOP", b" two"], stops=["STOP"], logprobs=True)
    piece = said.push([0, 1, 2, 3], [-1.0, -2.0, -3.0, -4.0])
    assert (piece.text, piece.reason) == ("one ", "stop")
    assert [token.data for token in piece.tokens] == [b"one", b" S"]
    assert said.count == 3
    assert said.push([3], [-4.0]).text == ""


def test_held_text_comes_at_the_end():
    said = sequence([b"one ST"], stops=["STOP"])
    assert said.push([0], []).text == "one "
    assert said.finish("stop").text == "ST"


def test_end_tokens_have_no_log_probability_but_count():
    said = sequence([b"one"], logprobs=True)
    piece = said.push([0, END], [-1.0, -2.0])
    assert [token.data for token in piece.tokens] == [b"one"]
    assert said.count == 2


@pytest.mark.parametrize(("data", "text"), [(b" word", " word"), (b"\xf0\x9f", r"bytes:\xf0\x9f"), (b"", "")])
def test_a_token_reads_as_openai_writes_it(data, text):
    assert Token(data, -1.0, 0, 0).text == text
