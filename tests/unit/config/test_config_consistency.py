"""What may be said more than once, and what may not."""

import sys
from pathlib import Path

import pytest

from antiphon.config import load
from antiphon.core.errors import ConfigError
from antiphon.execution.providers import PROVIDERS

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


def test_a_vendor_needs_no_address(tmp_path: Path) -> None:
    file = tmp_path / "antiphon.yaml"
    file.write_text("models: []\nproviders: [{name: seek, protocol: deepseek, models: [deepseek-chat]}]\n")
    assert load(file, {}).providers[0].url == "https://api.deepseek.com/v1"


@pytest.mark.parametrize("row", ["protocol: azure", "protocol: openai", "models: [m]"])
def test_what_has_no_address_of_its_own_needs_one(tmp_path: Path, row: str) -> None:
    file = tmp_path / "antiphon.yaml"
    file.write_text(f"models: []\nproviders:\n  - {{name: one, {row}}}\n")
    with pytest.raises(ConfigError, match=r'providers\[0\] lacks "url"'):
        load(file, {})


def test_a_protocol_whose_library_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("bedrock", "_aws"):
        monkeypatch.delitem(sys.modules, f"antiphon.execution.providers.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    monkeypatch.setattr(PROVIDERS, "_loaded", {})
    file = tmp_path / "antiphon.yaml"
    file.write_text('models: []\nproviders: [{name: aws, protocol: bedrock, url: "https://aws.example", models: [m]}]\n')
    with pytest.raises(ConfigError, match="needs the library of AWS") as told:
        load(file, {})
    assert "antiphon[bedrock]" in str(told.value)


@pytest.mark.parametrize(("more", "right"), [("", False), ("/openai", False), ("/openai/v1", True), ("/openai/v1/", True)])
def test_azure_is_told_a_version_where_its_address_has_none(tmp_path: Path, more: str, right: bool) -> None:
    file = tmp_path / "antiphon.yaml"
    row = f'name: blue, protocol: azure, url: "https://blue.example{more}", models: [m]'
    file.write_text(f"models: []\nproviders:\n  - {{{row}, api_version: 2024-10-21}}\n")
    assert load(file, {}).providers[0].api_version == "2024-10-21"
    file.write_text(f"models: []\nproviders:\n  - {{{row}}}\n")
    if right:
        assert load(file, {}).providers[0].api_version is None
    else:
        with pytest.raises(ConfigError, match=r'provider "blue": there is no api_version'):
            load(file, {})


@pytest.mark.parametrize(
    ("seconds", "wrong"), [("0", ""), ("0.1", ""), ("5", ""), ("0.05", "asks too often"), ("6", "poll_load"), ("-1", "poll_load")]
)
def test_replicas_are_asked_for_their_load_neither_too_often_nor_too_seldom(tmp_path: Path, seconds: str, wrong: str) -> None:
    file = tmp_path / "a.yaml"
    row = '{name: one, protocol: vllm, url: "https://one.example/v1", models: [m]}'
    file.write_text(f"models: []\nproviders: [{row}]\nroutes: [{{name: m, poll_load: {seconds}}}]\n")
    if wrong:
        with pytest.raises(ConfigError, match=wrong) as told:
            load(file, {})
        assert "poll_load" in str(told.value)
    else:
        assert load(file, {}).routes[0].poll_load == float(seconds)
