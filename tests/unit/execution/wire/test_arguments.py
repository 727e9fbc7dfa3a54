"""Arguments that come in pieces: when they are whole is known at each piece, and costs no more for many pieces than for few."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import arguments as module
from antiphon.execution.wire.arguments import Arguments
from antiphon.execution.wire.wrong_values import is_object

LEAVES = st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\{}[]/\n世', max_size=6)
OBJECTS = st.dictionaries(st.text(alphabet='k"\\}', max_size=3), st.recursive(LEAVES, st.lists, max_leaves=5), max_size=3)


def said_of(pieces: list[str]) -> list[bool]:
    arguments = Arguments()
    told = []
    for piece in pieces:
        arguments.add(piece)
        told.append(arguments.whole)
    return told


def right_of(pieces: list[str]) -> list[bool]:
    return [is_object("".join(pieces[: place + 1])) for place in range(len(pieces))]


def cut(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(place % (len(text) + 1) for place in cuts)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


@given(OBJECTS, st.lists(st.integers(0, 200), max_size=12), st.sampled_from(["", " ", "\n\t", "}", "{}", "x"]))
def test_an_object_is_whole_when_its_last_brace_has_come_and_never_behind_more(value: Any, cuts: list[int], more: str) -> None:
    pieces = [*cut(json.dumps(value), cuts), *more]
    assert said_of(pieces) == right_of(pieces)


@given(st.text(alphabet='{}[]":,\\ a1', max_size=30), st.lists(st.integers(0, 30), max_size=30))
@example('{"a":"\\\\"}', list(range(12)))
@example('{"a":"\\""} ', list(range(12)))
@example("[{}]", [])
@example("{]", [1])
def test_no_other_text_is_taken_for_an_object(text: str, cuts: list[int]) -> None:
    pieces = cut(text, cuts)
    assert said_of(pieces) == right_of(pieces)


def test_arguments_without_an_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ARGUMENTS", 10)
    arguments = Arguments()
    arguments.add("{" + "x" * 9)
    with pytest.raises(UpstreamBroken, match="arguments of a call of more than"):
        arguments.add("x")
