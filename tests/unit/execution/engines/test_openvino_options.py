from pathlib import Path

import pytest

from antiphon.core.errors import NoMemory, SetupError
from antiphon.core.ports import SamplingParams
from antiphon.execution.engines import ENGINES, EngineOptions
from antiphon.execution.engines import openvino as engine
from antiphon.execution.engines._openvino_pipeline import generation_config
from tests.unit.execution.engines.gguf_files import write_gguf

plugin = ENGINES.load("openvino")


def options(path: Path, **changes) -> EngineOptions:
    return EngineOptions(**{"model": "tiny", "path": str(path), "cache_dir": str(path.parent / "cache"), **changes})


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return Path(write_gguf(tmp_path / "m.gguf", {"general.architecture": "nonsense"}))


def test_supports_gguf_files_and_ir_folders(gguf: Path, tmp_path: Path) -> None:
    assert plugin.supports(str(gguf))
    assert not plugin.supports(str(tmp_path))
    for name in ("openvino_model.xml", "openvino_tokenizer.xml"):
        (tmp_path / name).touch()
    assert plugin.supports(str(tmp_path))


def test_an_unknown_precision_is_refused_with_the_known_ones(gguf: Path) -> None:
    with pytest.raises(SetupError, match=r'precision "int2".*known: default'):
        plugin.load(options(gguf, precision="int2"))


def test_adapters_are_refused_by_name(gguf: Path) -> None:
    with pytest.raises(SetupError, match=r"LoRA adapters .*french"):
        plugin.load(options(gguf, adapters={"french": "/x"}))


def test_too_little_memory_is_refused_with_figures_and_remedy(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "available_memory", lambda: 100 << 20)
    with pytest.raises(NoMemory, match=r'"tiny".* \d+ MiB .*512 MiB of KV cache.*100 MiB are available; lower kv_cache_mb'):
        plugin.load(options(gguf))


def test_an_architecture_that_cannot_be_converted_is_named(gguf: Path) -> None:
    with pytest.raises(SetupError, match=r"architecture nonsense"):
        plugin.load(options(gguf))


def test_temperature_one_changes_nothing_of_the_distribution() -> None:
    config = generation_config(SamplingParams(max_tokens=5), (2, 0), 2, seed=9)
    assert config.do_sample
    assert (config.temperature, config.top_p, config.min_p) == (1.0, 1.0, 0.0)
    assert (config.repetition_penalty, config.presence_penalty, config.frequency_penalty) == (1.0, 0.0, 0.0)
    assert config.top_k > 10**9
    assert (config.rng_seed, config.max_new_tokens, config.stop_token_ids, config.logprobs) == (9, 5, {0, 2}, 0)


def test_temperature_zero_is_greedy() -> None:
    assert not generation_config(SamplingParams(max_tokens=5, temperature=0), (2,), 2, 0).do_sample


def test_values_at_the_edge_of_the_api_are_within_the_librarys() -> None:
    config = generation_config(SamplingParams(max_tokens=5, top_p=0.0, min_p=1.0, temperature=2.0), (2,), 2, 0)
    config.validate()
    assert 0 < config.top_p < 0.01
    assert 0.99 < config.min_p < 1
