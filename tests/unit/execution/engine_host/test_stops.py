from hypothesis import given
from hypothesis import strategies as st

from antiphon.execution.engine_host.stops import StopMatcher

words = st.text("ab", min_size=1, max_size=4)


def by_definition(text, stops):
    """The text before the stop string that is complete first, the longest of several."""
    for end in range(1, len(text) + 1):
        lengths = [len(stop) for stop in stops if text[:end].endswith(stop)]
        if lengths:
            return text[: end - max(lengths)], True
    return text, False


@given(st.text("abc", max_size=40), st.lists(words, max_size=4), st.lists(st.integers(0, 9), max_size=20))
def test_however_the_text_is_cut_the_result_is_the_same(text, stops, sizes):
    matcher = StopMatcher(stops)
    out, rest = "", text
    for size in [*sizes, len(text)]:
        out += matcher.feed(rest[:size])
        rest = rest[size:]
    out += matcher.flush()
    assert (out, matcher.matched) == by_definition(text, stops)
    assert matcher.released == len(out)


@given(st.text("ab", max_size=30), words)
def test_only_the_beginning_of_a_stop_string_is_held(text, stop):
    matcher = StopMatcher([stop])
    out = "".join(map(matcher.feed, text))
    if not matcher.matched:
        held = text[len(out) :]
        assert stop.startswith(held)
        assert len(held) < len(stop)


def test_without_stop_strings_nothing_is_held():
    matcher = StopMatcher([])
    assert matcher.feed("text") == "text"
    assert matcher.flush() == ""


def test_nothing_comes_after_the_stop():
    matcher = StopMatcher(["END"])
    assert matcher.feed("one EN") == "one "
    assert matcher.feed("D two") == ""
    assert matcher.feed("three") == ""
    assert matcher.flush() == ""
    assert matcher.matched
