"""A stream is guarded as the whole text is, however it is cut, and nothing is taken back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import ContentBlocked
from antiphon.core.guardrail import Guardrail
from antiphon.governance.guarding.masks import Masks
from antiphon.governance.guarding.rules import Acts, Rule
from antiphon.governance.guarding.streams import StreamGuard
from antiphon.governance.guarding.texts import OutputGuard
from tests.unit.governance.guarding.patterns import DIGITS, LONG, MAIL, rule

texts = st.lists(
    st.one_of(
        st.sampled_from(
            ("12", "123", "12345", "123456", "ab@cd", "a@b@c", "@", "[NAME_1]", "[NAME_12]", "[NAME", "[", "]", " ", "x")
        ),
        st.text("ab1@[ ", max_size=12),
    ),
    max_size=30,
).map("".join)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[begin:end] for begin, end in pairwise(places)]


def masks() -> Masks:
    made = Masks()
    made.hide("NAME", "Ada")
    for number in range(2, 13):
        made.hide("NAME", f"somebody {number} 1234")
    return made


def streamed(rules: tuple[Rule, ...], text: str, cuts: list[int], known: Masks, acts: Acts) -> list[str]:
    guard = StreamGuard(rules, known, acts)
    return [*(guard.feed(piece) for piece in pieces(text, cuts)), guard.finish()]


@given(text=texts, cuts=st.lists(st.integers(0, 400), max_size=20), modes=st.tuples(*[st.sampled_from(("mask", "observe"))] * 2))
def test_any_cut_gives_what_the_whole_text_gives(text: str, cuts: list[int], modes: tuple[str, str]) -> None:
    rules = (rule(DIGITS, modes[0]), rule(MAIL, modes[1]))
    acts, acts_of_whole = Acts(), Acts()
    whole = OutputGuard(rules, masks(), acts_of_whole).text(text)
    assert "".join(streamed(rules, text, cuts, masks(), acts)) == whole
    assert acts.counts == acts_of_whole.counts


@given(text=texts, cuts=st.lists(st.integers(0, 400), max_size=20))
def test_what_is_blocked_as_a_whole_is_blocked_in_pieces_before_any_of_it_went_out(text: str, cuts: list[int]) -> None:
    rules = (rule(MAIL, "block"),)
    first = next(iter(MAIL.find(text)), None)
    guard = StreamGuard(rules, Masks(), Acts())
    out = ""
    try:
        for piece in pieces(text, cuts):
            out += guard.feed(piece)
        out += guard.finish()
    except ContentBlocked:
        assert first is not None
        assert text.startswith(out)
        assert len(out) <= first.begin
    else:
        assert first is None
        assert out == text


@given(text=texts, cuts=st.lists(st.integers(0, 400), max_size=20))
def test_without_rules_only_a_placeholder_is_held_back(text: str, cuts: list[int]) -> None:
    known = masks()
    assert "".join(streamed((), text, cuts, known, Acts())) == known.restore(text)
    assert StreamGuard((), known, Acts()).feed("no placeholder ") == "no placeholder "


def test_no_more_is_held_back_than_twice_the_reach_and_a_step() -> None:
    guard = StreamGuard((rule(MAIL),), Masks(), Acts())
    longest = out = 0
    for fed in range(1, 401):
        out += len(guard.feed("."))
        longest = max(longest, fed - out)
    assert longest <= 2 * 13 + 16


def test_what_needs_the_whole_text_holds_all_of_it_back() -> None:
    guard = StreamGuard((rule(LONG, "block"),), Masks(), Acts())
    assert [guard.feed("x" * 10) for _ in range(5)] == [""] * 5
    with pytest.raises(ContentBlocked, match="LONG"):
        guard.finish()


def test_a_text_that_is_too_long_to_be_judged_as_a_whole_is_blocked() -> None:
    guard = StreamGuard((rule(LONG, "block"),), Masks(), Acts())
    assert guard.feed("x" * 1_000_000) == ""
    with pytest.raises(ContentBlocked, match="TOO_LONG_TO_JUDGE"):
        guard.feed("x" * 100_000)


def test_the_patterns_are_guardrails() -> None:
    guardrails: tuple[Guardrail, ...] = (DIGITS, MAIL, LONG)
    assert all(not each.find("") for each in guardrails)
