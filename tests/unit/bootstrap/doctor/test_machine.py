import importlib.metadata
import locale
import os
import resource
import sys
import sysconfig
import time
from pathlib import Path

import msgspec
import pytest

import antiphon
from antiphon.bootstrap.doctor import Subject, machine
from antiphon.config import DEFAULT_MODEL, Loaded, ProviderSettings, ServerSettings, Settings


@pytest.fixture
def subject(tmp_path):
    def make(**settings) -> Subject:
        return Subject(Loaded(Settings(data_dir=str(tmp_path), **settings), None, {}, ()))

    return make


def the_one(findings):
    (finding,) = findings
    return finding


@pytest.mark.parametrize(
    ("arguments", "status"), [("'--enable-optimizations' '--with-lto'", "ok"), ("'--prefix=/opt'", "warning"), (None, "ok")]
)
def test_a_python_built_without_optimisation_is_told(monkeypatch, arguments, status):
    known = {"CONFIG_ARGS": arguments, "Py_DEBUG": 0}
    monkeypatch.setattr(sysconfig, "get_config_var", known.get)
    finding = the_one(machine.python(Subject()))
    assert finding.status == status
    assert sys.version.split()[0] in finding.found


def test_a_debug_build_is_told(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1)
    assert the_one(machine.python(Subject())).status == "warning"


def test_packages_are_told_with_their_versions():
    finding = the_one(machine.packages(Subject()))
    assert finding.found.startswith(f"antiphon {antiphon.__version__}; msgspec {msgspec.__version__}")


def test_a_missing_package_is_an_error(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ["gone-package>=1", 'pytest ; extra == "dev"'])
    error, _ = machine.packages(Subject())
    assert (error.status, error.found) == ("error", "the package gone-package is not installed")


def test_the_clock_is_right_unless_it_is_before_the_installation(monkeypatch):
    assert the_one(machine.clock(Subject())).status == "ok"
    later = os.stat_result([*Path(antiphon.__file__).stat()[:8], time.time() + 86400, 0])
    monkeypatch.setattr(Path, "stat", lambda self: later)
    finding = the_one(machine.clock(Subject()))
    assert (finding.status, "installed at" in finding.found) == ("error", True)


def test_a_clock_that_goes_backwards(monkeypatch):
    times = iter([2.0, 1.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    assert the_one(machine.clock(Subject())).status == "error"


@pytest.mark.parametrize(("encoding", "status"), [("UTF-8", "ok"), ("utf8", "ok"), ("ANSI_X3.4-1968", "warning")])
def test_text_that_is_not_utf8(monkeypatch, encoding, status):
    monkeypatch.setattr(locale, "getpreferredencoding", lambda do_setlocale: encoding)
    finding = the_one(machine.locale(Subject()))
    assert finding.status == status
    assert ("PYTHONUTF8" in finding.remedy) == (status == "warning")


@pytest.mark.parametrize(("soft", "status"), [(1024, "warning"), (8192, "ok"), (resource.RLIM_INFINITY, "ok")])
def test_open_files_against_connections(monkeypatch, subject, soft, status):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, soft))
    providers = (ProviderSettings("a", "http://x/v1", max_connections=1000),)
    finding = the_one(machine.open_files(subject(models=(), providers=providers)))
    assert finding.status == status
    assert ("ulimit -n 4096" in finding.remedy) == (status == "warning")


def test_engines_that_share_too_few_cores(monkeypatch, subject):
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    assert the_one(machine.cores(subject())).status == "ok"
    second = msgspec.structs.replace(DEFAULT_MODEL, name="second", threads=1)
    finding = the_one(machine.cores(subject(models=(DEFAULT_MODEL, second))))
    assert (finding.status, "second 1" in finding.found) == ("warning", True)
    assert the_one(machine.cores(subject(models=(), server=ServerSettings(workers=3)))).found == "3 workers on 2 core(s)"
