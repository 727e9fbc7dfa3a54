"""The store with real files, real servers and processes that are killed."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from antiphon.core.errors import ChecksumMismatch, ModelSourceError, SetupError
from antiphon.registry.store import Store
from tests.integration.registry.file_server import Behaviour

FETCH = """
import sys
from antiphon.core.errors import AntiphonError
from antiphon.registry.store import Store

def progress(done, total, text):
    print(text, done, flush=True)

try:
    model = Store(sys.argv[1]).fetch("tiny", sys.argv[2], "", progress)
except AntiphonError as error:
    sys.exit(f"{error.code}: {error}")
print("fetched", model.sha256, flush=True)
"""


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


@pytest.fixture
def source(server, model):
    server.files["/tiny.gguf"] = model
    return f"{server.url}/tiny.gguf"


@pytest.fixture
def child(tmp_path):
    """Starts a process that fetches the source into the same store."""
    running = []

    def start(source: str, **options) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", FETCH, str(tmp_path / "cache"), source]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def until(condition, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_model_is_fetched_once(store, source, server, model, model_hash):
    assert store.state("tiny") == "not fetched"
    stored = store.fetch("tiny", source)
    assert stored.path.read_bytes() == model
    assert (stored.sha256, stored.size) == (model_hash, len(model))
    assert store.fetch("tiny", source) == stored == store.get("tiny")
    assert store.list() == (stored,)
    assert store.state("tiny") == "ready"
    assert len(server.seen) == 1


def test_a_store_that_cannot_be_written_any_more_still_serves(store, source):
    stored = store.fetch("tiny", source)
    shutil.rmtree(store.root / ".locks")
    (store.root / ".locks").write_text("nothing can be made in here")
    assert store.fetch("tiny", source) == stored


def test_names_with_slashes_do_not_meet(store, source):
    for name in ("org/tiny", "org", "org:tiny"):
        store.fetch(name, source)
    assert [stored.name for stored in store.list()] == ["org", "org/tiny", "org:tiny"]
    store.remove("org")
    assert [stored.name for stored in store.list()] == ["org/tiny", "org:tiny"]


def test_the_store_can_be_moved(store, source, tmp_path):
    store.fetch("tiny", source)
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    moved = Store(tmp_path / "elsewhere").get("tiny")
    assert moved.path == tmp_path / "elsewhere" / "models" / "tiny" / "tiny.gguf"


def test_a_wrong_hash_leaves_nothing_behind(store, source, model_hash):
    with pytest.raises(ChecksumMismatch, match=model_hash):
        store.fetch("tiny", source, "0" * 64)
    assert store.state("tiny") == "not fetched"
    assert [path for path in store.root.rglob("*") if path.suffix in {".gguf", ".part"}] == []


def test_a_hash_in_the_source_counts_and_must_not_contradict(store, source, model_hash):
    assert store.fetch("tiny", f"{source}#sha256={model_hash}").sha256 == model_hash
    with pytest.raises(ChecksumMismatch, match="configured sha256"):
        store.fetch("tiny", f"{source}#sha256={model_hash}", "0" * 64)


def test_later_fetches_must_agree_with_the_first(store, source, server, model_hash):
    first = store.fetch("tiny", source)
    first.path.write_bytes(b"GGUF damaged")
    assert store.state("tiny") == "broken"
    assert store.get("tiny") is None
    server.files["/tiny.gguf"] = b"GGUF another model"
    with pytest.raises(ChecksumMismatch, match=model_hash) as caught:
        store.fetch("tiny", source)
    assert "antiphon models rm tiny" in caught.value.remedy
    store.remove("tiny")
    assert store.fetch("tiny", source).size == 18


def test_a_broken_model_is_fetched_again(store, source, model):
    first = store.fetch("tiny", source)
    first.path.unlink()
    assert store.fetch("tiny", source).path.read_bytes() == model


def test_another_source_or_hash_replaces_the_model(store, source, server):
    store.fetch("tiny", source)
    other = b"GGUF other"
    server.files["/other.gguf"] = other
    replaced = store.fetch("tiny", f"{server.url}/other.gguf")
    assert replaced.path.read_bytes() == other
    assert [path.name for path in replaced.path.parent.iterdir() if path.suffix == ".gguf"] == ["other.gguf"]
    assert list((store.root / ".partial").iterdir()) == []


def test_what_is_there_stays_until_the_new_one_is_whole(store, source, server, model):
    store.fetch("tiny", source)
    server.usual = Behaviour(status=404)
    with pytest.raises(SetupError):
        store.fetch("tiny", f"{server.url}/gone.gguf")
    assert store.get("tiny").path.read_bytes() == model


def test_a_changed_byte_is_found_by_verify(store, source, model):
    stored = store.fetch("tiny", source)
    assert store.verify("tiny") == stored
    stored.path.write_bytes(model[:-1] + bytes([model[-1] ^ 1]))
    assert store.state("tiny") == "ready"
    with pytest.raises(ChecksumMismatch, match=r"tiny\.gguf") as caught:
        store.verify("tiny")
    assert "--force" in caught.value.remedy
    assert store.fetch("tiny", source, anew=True).path.read_bytes() == model


def test_verify_names_what_is_missing(store, source):
    with pytest.raises(ModelSourceError, match="not in the store"):
        store.verify("tiny")
    store.fetch("tiny", source).path.unlink()
    with pytest.raises(ModelSourceError, match="broken"):
        store.verify("tiny")


def test_a_manifest_that_cannot_be_read_is_a_broken_model(store, source):
    stored = store.fetch("tiny", source)
    (stored.path.parent / "manifest.json").write_text("{")
    assert store.state("tiny") == "broken"
    assert store.fetch("tiny", source) is not None
    assert store.state("tiny") == "ready"


def test_removing_says_whether_there_was_anything(store, source):
    store.fetch("tiny", source)
    assert store.remove("tiny") is True
    assert store.remove("tiny") is False
    assert store.list() == ()


def test_a_local_file_is_used_where_it_lies_and_never_removed(store, tmp_path, model, model_hash):
    path = tmp_path / "mine.gguf"
    path.write_bytes(model)
    stored = store.fetch("mine", str(path))
    assert (stored.path, stored.sha256, stored.in_place) == (path, model_hash, True)
    assert store.get("mine") == stored
    store.remove("mine")
    assert path.exists()


@pytest.mark.parametrize("name", ["tiny", "other"])
def test_files_of_the_store_are_no_local_source(store, source, tmp_path, name):
    stored = store.fetch("tiny", source)
    link = tmp_path / "link.gguf"
    link.symlink_to(stored.path)
    for place in (stored.path, Path(stored.path).parent, link):
        for use in (store.fetch, store.check):
            with pytest.raises(ModelSourceError, match="fetches and removes") as refused:
                use(name, f"file:{place}")
            assert "copy it" in refused.value.remedy
    assert store.get("tiny") == stored
    assert store.verify("tiny") == stored
    assert not store.unfinished("other")


def test_a_local_file_that_changes_must_be_acknowledged(store, tmp_path, model):
    path = tmp_path / "mine.gguf"
    path.write_bytes(model)
    store.fetch("mine", str(path))
    os.utime(path, ns=(1, 1))
    assert store.fetch("mine", str(path)).path == path
    path.write_bytes(model + b"more")
    with pytest.raises(ChecksumMismatch):
        store.fetch("mine", str(path))


def test_a_local_folder_with_ir_is_a_model(store, tmp_path):
    folder = tmp_path / "ir"
    folder.mkdir()
    for name in ("openvino_model.xml", "openvino_model.bin", "config.json", "README.md"):
        (folder / name).write_text(name)
    stored = store.fetch("ir", str(folder))
    assert stored.path == folder
    assert [file.path for file in stored.files] == ["config.json", "openvino_model.bin", "openvino_model.xml"]


@pytest.mark.parametrize(("make", "match"), [(None, "no file or folder"), ("page.gguf", "not a GGUF"), ("x.pkl", "pickle")])
def test_local_files_that_are_no_models_are_refused(store, tmp_path, make, match):
    path = tmp_path / (make or "nothing.gguf")
    if make:
        path.write_text("<html>")
    with pytest.raises(ModelSourceError, match=match):
        store.fetch("x", str(path))


def test_a_cache_folder_that_cannot_be_written_is_named(source, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SetupError, match="cannot write") as caught:
        Store(blocked / "cache").fetch("tiny", source)
    assert str(blocked) in caught.value.message
    assert "ANTIPHON_CACHE_DIR" in caught.value.remedy


def test_a_killed_fetch_is_gone_on_with(store, source, server, child, model, model_hash):
    server.plan.append(Behaviour(cut=200_000, hold=threading.Event()))
    process = child(source)
    part = store.root / ".partial" / "tiny" / "tiny.gguf.part"
    until(lambda: part.exists() and part.stat().st_size == 200_000)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert store.state("tiny") == "not fetched"
    assert store.fetch("tiny", source).path.read_bytes() == model
    assert server.seen[-1].headers["range"] == "bytes=200000-"
    assert store.list()[0].sha256 == model_hash


def test_a_second_process_waits_and_finds_the_model(source, server, child, model_hash):
    go_on = threading.Event()
    server.plan.append(Behaviour(cut=1000, hold=go_on, go_on=True))
    first = child(source)
    assert server.halfway.wait(20)
    second = child(source)
    assert "waiting for another process that fetches tiny" in second.stdout.readline()
    go_on.set()
    assert first.communicate(timeout=20)[0].splitlines()[-1] == f"fetched {model_hash}"
    assert second.communicate(timeout=20)[0].splitlines()[-1] == f"fetched {model_hash}"
    assert len(server.seen) == 1


def test_the_lock_of_a_killed_process_is_taken_over(source, server, child, model_hash):
    server.plan.append(Behaviour(cut=1000, hold=threading.Event()))
    first = child(source)
    assert server.halfway.wait(20)
    second = child(source)
    assert "waiting" in second.stdout.readline()
    first.kill()
    assert second.communicate(timeout=20)[0].splitlines()[-1] == f"fetched {model_hash}"


def limit_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def test_a_disk_that_fills_up_on_the_way_is_an_error_and_the_rest_can_follow(store, source, child, model, server):
    process = child(source, preexec_fn=limit_files)
    said = process.communicate(timeout=20)[1]
    assert said.startswith("no_space: not enough disk space for")
    assert f"{len(model)} bytes needed" in said
    assert "cache_dir" in said
    assert store.fetch("tiny", source).path.read_bytes() == model
    assert server.seen[-1].headers["range"] == "bytes=100000-"


def test_files_of_the_store_have_the_recorded_hash(store, source):
    stored = store.fetch("tiny", source)
    for file in stored.files:
        assert hashlib.sha256(Path(stored.folder, file.path).read_bytes()).hexdigest() == file.sha256
