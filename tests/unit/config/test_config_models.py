"""What is seen to be wrong with a model of this machine without the network."""

from pathlib import Path

import pytest

from antiphon.config import LocalModelSettings, Settings, load_with_origins
from antiphon.core.errors import ConfigError
from antiphon.registry.store import Store

GOOD = b"GGUF" + bytes(100)


def write(folder: Path, source: str, *rest: str) -> Path:
    rows = [f"data_dir: {folder}/data", f"cache_dir: {folder}/cache", "models:", "  - name: mine", f'    source: "{source}"']
    file = folder / "antiphon.yaml"
    file.write_text("\n".join([*rows, *(f"    {line}" for line in rest)]) + "\n")
    return file


def check(file: Path) -> Settings:
    return load_with_origins(file, {}, model_files=True).settings


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("ftp://x/m.gguf", 'source kind "ftp" is not known'),
        ("http://example.com/m.gguf", "not encrypted"),
        ("https://example.com/m.pkl", "pickles"),
        ("hf:a/b/c", "does not name a repository"),
        ("pypi:a b", "does not name a package"),
    ],
)
def test_a_source_that_nothing_can_come_from(tmp_path, source, what):
    file = write(tmp_path, source)
    for model_files in (False, True):  # no file needs to be looked at for it
        with pytest.raises(ConfigError, match=what) as caught:
            load_with_origins(file, {}, model_files=model_files)
        assert (caught.value.file, caught.value.line, caught.value.key) == (str(file), 5, "models[0].source")
        assert 'model "mine"' in caught.value.message
        assert caught.value.remedy


def test_an_engine_that_there_is_not(tmp_path):
    file = write(tmp_path, "pypi:a", "engine: steam")
    with pytest.raises(ConfigError, match=r'model "mine": engine "steam" is not known; known: .*openvino') as caught:
        check(file)
    assert caught.value.line == 6


def damaged(folder: Path) -> None:
    (folder / "m.gguf").write_bytes(b"<html>" + bytes(100))


def empty_folder(folder: Path) -> None:
    (folder / "m.gguf").mkdir()


def unreadable(folder: Path) -> None:
    (folder / "m.gguf").symlink_to(folder / "m.gguf")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (None, "there is no file or folder"),
        (damaged, "is not a GGUF file"),
        (empty_folder, "holds no model"),
        (unreadable, "no file or folder|cannot read"),
    ],
)
def test_a_file_that_is_no_model(tmp_path, make, what):
    if make:
        make(tmp_path)
    file = write(tmp_path, f"file:{tmp_path}/m.gguf")
    assert load_with_origins(file, {}).settings.models[0].name == "mine"  # commands that run no model are not held up
    with pytest.raises(ConfigError, match=what) as caught:
        check(file)
    assert (caught.value.file, caught.value.line) == (str(file), 5)
    assert 'model "mine"' in caught.value.message


def test_two_hashes_that_contradict_each_other(tmp_path):
    file = write(tmp_path, f"https://example.com/m.gguf#sha256={'a' * 64}", f"sha256: {'b' * 64}")
    with pytest.raises(ConfigError, match=f"{'b' * 64}, and the source ends in #sha256={'a' * 64}"):
        check(file)


def test_a_file_that_is_a_model_may_be_named_from_the_folder_of_the_configuration(tmp_path, monkeypatch):
    (tmp_path / "m.gguf").write_bytes(GOOD)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (model,) = check(write(tmp_path, "file:m.gguf")).models
    assert model == LocalModelSettings("mine", f"file:{tmp_path}/m.gguf")
    with pytest.raises(ConfigError, match=f"there is no file or folder {tmp_path}/elsewhere/m.gguf"):
        load_with_origins(write(tmp_path, "pypi:a"), {"ANTIPHON_MODELS": "[{name: a, source: 'file:m.gguf'}]"}, model_files=True)


def test_a_model_that_is_here_already_needs_its_source_no_more(tmp_path):
    (tmp_path / "old.gguf").write_bytes(GOOD)
    stored = Store(tmp_path / "cache").fetch("mine", f"file:{tmp_path}/old.gguf")
    check(write(tmp_path, f"file:{tmp_path}/gone.gguf", f"sha256: {stored.sha256}"))


def test_every_fault_is_told_at_once(tmp_path):
    file = write(tmp_path, "ftp://x/m.gguf", "engine: steam")
    with file.open("a") as more:
        more.write("  - {name: other, source: 'file:nowhere.gguf'}\n")
    with pytest.raises(ConfigError) as caught:
        check(file)
    assert [error.line for error in caught.value.errors] == [5, 6, 7]  # type: ignore[attr-defined]
