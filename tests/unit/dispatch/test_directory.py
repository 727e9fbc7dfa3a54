"""Names and what they stand for."""

import pytest

from antiphon.core.errors import ModelNotFound
from antiphon.core.ports import Model
from antiphon.core.types import ModelCard
from antiphon.dispatch.chain import Chain
from antiphon.dispatch.directory import Directory
from antiphon.testing import FakeModel

A, B, C = FakeModel("one/llama"), FakeModel("two/llama"), FakeModel("two/qwen")
REPLICAS = [(ModelCard("llama", "one"), A), (ModelCard("llama", "two"), B), (ModelCard("qwen", "two"), C)]


def members(model: Model) -> list[str]:
    assert isinstance(model, Chain)
    return [member.name for member in model.members]


def test_one_name_at_two_providers_is_a_chain() -> None:
    directory = Directory(REPLICAS, {})
    assert members(directory.model_for("llama")) == ["one/llama", "two/llama"]
    assert members(directory.model_for("two/llama")) == ["two/llama"]


def test_aliases_resolve_to_chains_without_loops_or_repeats() -> None:
    directory = Directory(REPLICAS, {"fast": ("qwen", "llama"), "best": ("fast", "qwen"), "a": ("b",), "b": ("a", "qwen")})
    assert members(directory.model_for("fast")) == ["two/qwen", "one/llama", "two/llama"]
    assert members(directory.model_for("best")) == ["two/qwen", "one/llama", "two/llama"]
    assert members(directory.model_for("a")) == ["two/qwen"]


def test_an_unknown_name_is_refused_with_what_is_near() -> None:
    with pytest.raises(ModelNotFound) as caught:
        Directory(REPLICAS, {}).model_for("lama")
    assert "llama" in caught.value.message
    assert "antiphon models add" in caught.value.remedy
    assert caught.value.param == "model"


def test_an_empty_catalogue_says_so() -> None:
    with pytest.raises(ModelNotFound, match="catalogue is empty"):
        Directory([], {}).model_for("x")


def test_cards_list_each_name_once() -> None:
    directory = Directory(REPLICAS, {"fast": ("qwen",)})
    assert [card.id for card in directory.cards()] == ["llama", "qwen", "fast"]
    assert directory.card("llama").owned_by == "one"
