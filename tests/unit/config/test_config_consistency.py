"""What may be said more than once, and what may not."""

from pathlib import Path

import pytest

from antiphon.config import load
from antiphon.core.errors import ConfigError

TWO = """
models: []
providers:
  - {name: one, url: "https://one.example/v1", models: [llama]}
  - {name: two, url: "https://two.example/v1", models: [{name: llama, upstream: "meta/llama"}]}
aliases:
  second: two/meta/llama
  both: [second, one/llama]
"""


def test_a_model_may_be_at_several_providers_and_be_addressed_at_one(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(TWO)
    settings = load(file, {})
    assert [row.models[0].name for row in settings.providers] == ["llama", "llama"]
    assert settings.aliases["second"] == ("two/meta/llama",)


def test_a_model_is_not_there_twice_at_one_provider(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('models: []\nproviders: [{name: one, url: "https://one.example/v1", models: [llama, llama]}]\n')
    with pytest.raises(ConfigError, match='model "llama" is there twice'):
        load(file, {})
