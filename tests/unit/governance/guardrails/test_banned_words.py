import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.governance.guardrails.banned_words import Options, plugin


def found(text: str, *words: str, **options: object) -> list[tuple[str, str]]:
    guardrail = plugin.make(Options(words=words, **options))
    return [(text[each.begin : each.end], each.kind) for each in guardrail.find(text)]


def test_words_of_letters_are_found_whole() -> None:
    assert found("An apple, an APPLE and pineapples", "apple") == [("apple", "BANNED_WORD"), ("APPLE", "BANNED_WORD")]


def test_words_in_chinese_are_found_anywhere_and_letters_beside_them_are_whole() -> None:
    assert found("这是坏词语，用apple手机", "坏词", "apple") == [("坏词", "BANNED_WORD"), ("apple", "BANNED_WORD")]


@pytest.mark.parametrize("said", ["straße", "STRASSE", "ｓｔｒａｓｓｅ", "Straße"])
def test_case_and_width_do_not_matter(said: str) -> None:
    assert found(f"die {said}!", "Straße") == [(said, "BANNED_WORD")]


def test_a_letter_with_its_mark_apart_is_the_letter() -> None:
    assert found("un cafe\u0301 noir", "café") == [("cafe\u0301", "BANNED_WORD")]


def test_half_a_sign_that_stands_for_more_is_told_whole() -> None:
    assert found("ﬁne", "fine") == [("ﬁne", "BANNED_WORD")]


def test_topics_are_words_with_a_kind_of_their_own() -> None:
    options = {"topics": {"GAMBLING": ("casino", "赌场"), "LAW": ("lawsuit",)}, "label": "RUDE"}
    assert found("a casino, 赌场 or lawsuit, damn", "damn", **options) == [
        ("casino", "GAMBLING"), ("赌场", "GAMBLING"), ("lawsuit", "LAW"), ("damn", "RUDE"),
    ]  # fmt: skip


def test_nothing_is_found_without_words() -> None:
    assert plugin.make(Options()).find("anything") == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": (" ",)}, "a word is empty"),
        ({"words": ("a" * 65,)}, "longer than 64 characters"),
        ({"label": "rude"}, '"rude" cannot be a kind'),
        ({"topics": {"bad topic": ("x",)}}, '"bad topic" cannot be a kind'),
    ],
)
def test_what_cannot_be_looked_for_is_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options(**options)


def test_ten_thousand_words_take_little_longer_than_ten() -> None:
    rng = random.Random(1)
    words = tuple({"".join(rng.choices(string.ascii_lowercase, k=9)) for _ in range(10_000)})
    assert found(f"so {words[77]} and {words[9_001]}.", *words) == [(words[77], "BANNED_WORD"), (words[9_001], "BANNED_WORD")]


@given(
    text=st.text(alphabet="aAbB é\u0301ßﬁ坏词.ＡＢ", max_size=40),
    words=st.lists(st.text(alphabet="abé坏词", min_size=1, max_size=4), max_size=5),
)
@settings(deadline=None)
def test_spans_lie_in_the_text_and_are_whole(text: str, words: list[str]) -> None:
    end = 0
    for each in plugin.make(Options(words=tuple(words))).find(text):
        assert end <= each.begin < each.end <= len(text)
        end = each.end
