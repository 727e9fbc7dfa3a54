"""What every engine plugin keeps to, whichever there are."""

from importlib import import_module
from pathlib import Path

import pytest

from antiphon.core.errors import ConfigError, SetupError
from antiphon.execution.engines import ENGINES, EngineOptions

NAMES = ENGINES.names()


def test_there_is_one() -> None:
    assert "openvino" in NAMES


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r'engine "steam" is not known; known: .*openvino'):
        ENGINES.load("steam")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_documented_module(name: str) -> None:
    assert import_module(type(ENGINES.load(name)).__module__).__doc__


@pytest.mark.parametrize("name", NAMES)
def test_it_does_not_claim_what_is_no_model(name: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.gguf").touch()
    (tmp_path / "folder").mkdir()
    plugin = ENGINES.load(name)
    for path in ("missing", "notes.txt", "empty.gguf", "folder"):
        assert plugin.supports(str(tmp_path / path)) is False


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", ["missing.gguf", "broken.gguf", "folder"])
def test_what_it_cannot_load_is_a_setup_error_that_names_the_path(name: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    (tmp_path / "folder").mkdir()
    options = EngineOptions(model="m", path=str(tmp_path / path), cache_dir=str(tmp_path / "cache"))
    with pytest.raises(SetupError, match=path):
        ENGINES.load(name).load(options)


@pytest.mark.parametrize("name", NAMES)
def test_it_refuses_a_precision_that_it_does_not_know(name: str, tmp_path: Path) -> None:
    options = EngineOptions(model="m", path=str(tmp_path / "x"), cache_dir=str(tmp_path), precision="no such precision")
    with pytest.raises(SetupError, match=r"no such precision.*known: .*default"):
        ENGINES.load(name).load(options)
