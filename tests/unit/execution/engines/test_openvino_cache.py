import errno
import multiprocessing
import os
import shutil
import time
from collections import namedtuple
from pathlib import Path

import pytest

from antiphon.core.errors import NoSpace, SetupError
from antiphon.execution.engines._openvino_cache import CARD, ModelCard, entry_for, fingerprint, forget, update_card

CARD_OF_A = ModelCard(
    context_length=8, vocabulary=2, chat_template="", bos_token="", eos_token="", eos_id=1, end_ids=(1,), pieces=(b"\xff", b""),
    control_tokens=("<e>",), kv_block_bytes=10,
)  # fmt: skip


class Maker:
    def __init__(self) -> None:
        self.calls = 0
        self.error: Exception | None = None

    def __call__(self, path: str, folder: str) -> ModelCard:
        self.calls += 1
        Path(folder, "network.bin").write_bytes(Path(path).read_bytes())
        if self.error is not None:
            raise self.error
        return CARD_OF_A


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "Tiny model.gguf"
    path.write_bytes(b"weights")
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def folders(cache: Path) -> list[Path]:
    return [item for item in (cache / "openvino").iterdir() if item.is_dir()]


def test_a_model_is_made_once(model: Path, cache: Path) -> None:
    make = Maker()
    first = entry_for(str(model), str(cache), "1", 0, make)
    second = entry_for(str(model), str(cache), "1", 0, make)
    assert make.calls == 1
    assert first == second
    assert second.card == CARD_OF_A
    assert Path(second.folder, "network.bin").read_bytes() == b"weights"
    assert Path(second.folder).name.startswith("Tiny-model-")


def test_another_content_time_or_version_is_another_entry(model: Path) -> None:
    before = fingerprint(str(model), "1")
    assert fingerprint(str(model), "2") != before
    state = model.stat()
    model.write_bytes(b"WEIGHTS")
    os.utime(model, ns=(state.st_atime_ns, state.st_mtime_ns))
    changed = fingerprint(str(model), "1")
    assert changed != before
    os.utime(model, ns=(1, 1))
    assert fingerprint(str(model), "1") != changed


def test_a_folder_has_a_fingerprint_too(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("a")
    before = fingerprint(str(tmp_path), "1")
    (tmp_path / "b.bin").write_text("b")
    assert fingerprint(str(tmp_path), "1") != before


def test_a_failed_conversion_leaves_nothing(model: Path, cache: Path) -> None:
    make = Maker()
    make.error = SetupError("cannot convert")
    with pytest.raises(SetupError, match="cannot convert"):
        entry_for(str(model), str(cache), "1", 0, make)
    assert folders(cache) == []
    make.error = None
    assert entry_for(str(model), str(cache), "1", 0, make).card == CARD_OF_A


@pytest.mark.parametrize("content", [None, b"", b"rubbish"])
def test_a_half_written_entry_is_never_used(model: Path, cache: Path, content: bytes | None) -> None:
    make = Maker()
    entry = entry_for(str(model), str(cache), "1", 0, make)
    card = Path(entry.folder, CARD)
    card.unlink() if content is None else card.write_bytes(content)
    assert entry_for(str(model), str(cache), "1", 0, make) == entry
    assert make.calls == 2


def test_what_a_crash_left_is_swept_away(model: Path, cache: Path) -> None:
    entry = entry_for(str(model), str(cache), "1", 0, Maker())
    rubbish = Path(entry.folder).with_name(f".{Path(entry.folder).name}-abc")
    rubbish.mkdir()
    forget(entry)
    entry_for(str(model), str(cache), "1", 0, Maker())
    assert folders(cache) == [Path(entry.folder)]


def test_a_full_disk_is_told_with_figures_and_remedy(model: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024  what shutil gives
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 30, 1 << 30, 5 << 20))
    with pytest.raises(NoSpace, match=r"164 MiB.*5 MiB are free.*cache_dir"):
        entry_for(str(model), str(cache), "1", 100 << 20, Maker())


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("iostream error")])
def test_a_disk_that_fills_up_on_the_way_is_told_too(
    model: Path, cache: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([1 << 30, 0])
    usage = namedtuple("usage", "total used free")  # noqa: PYI024  what shutil gives
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 30, 0, next(free)))
    make = Maker()
    make.error = error
    with pytest.raises(NoSpace, match="is full"):
        entry_for(str(model), str(cache), "1", 0, make)
    assert folders(cache) == []


def test_a_cache_that_cannot_be_written_is_named(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match=r"file.*cannot be used.*cache_dir"):
        entry_for(str(model), str(tmp_path / "file"), "1", 0, Maker())


def test_a_card_can_be_corrected(model: Path, cache: Path) -> None:
    entry = entry_for(str(model), str(cache), "1", 0, Maker())
    changed = ModelCard(**{**{name: getattr(CARD_OF_A, name) for name in CARD_OF_A.__struct_fields__}, "kv_block_bytes": 20})
    assert update_card(entry, changed).card.kv_block_bytes == 20
    assert entry_for(str(model), str(cache), "1", 0, Maker()).card == changed


def slowly(path: str, folder: str) -> ModelCard:
    time.sleep(0.3)
    with Path(path).with_suffix(".log").open("a") as log:
        log.write("made\n")
    return Maker()(path, folder)


def prepare(path: str, cache: str) -> None:
    assert entry_for(path, cache, "1", 0, slowly).card == CARD_OF_A


def test_two_processes_make_a_model_once(model: Path, cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=prepare, args=(str(model), str(cache))) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert model.with_suffix(".log").read_text() == "made\n"
