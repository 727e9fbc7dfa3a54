"""What every test may lean on: the real parts that some need, and a run in continuous integration that skips none."""

import os
import shutil
import signal
from pathlib import Path
from typing import NoReturn

import pytest

from antiphon.bootstrap.models import overview
from antiphon.config import DEFAULT_MODEL, Settings

CI = os.environ.get("CI") == "true"
HOW_TO_GET = {
    "chromium": "apt install chromium",
    "gcc": "apt install gcc libc6-dev",
    "nginx": "apt install nginx",
    "redis-server": "apt install redis-server",
}
ELSEWHERE = "only on"
"""A skip whose reason begins so is about the platform, not about a missing part, and is let pass everywhere."""


signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs this in the background ignores it, for children too


class Need:
    """Hands out real parts.

    Where one is missing, the test is skipped with the command that brings it; in continuous integration it fails.
    """

    def model(self) -> Path:
        """The default model's file: what ``ANTIPHON_TEST_MODEL`` names, or what ``antiphon models pull`` put into the cache."""
        named = os.environ.get("ANTIPHON_TEST_MODEL", "")
        path = named or next(row.path for row in overview(Settings()) if row.name == DEFAULT_MODEL.name)
        if path and Path(path).exists():
            return Path(path)
        return self.missing("the default model", f".venv/bin/antiphon models pull {DEFAULT_MODEL.name}")

    def program(self, name: str) -> str:
        """Path of a program on this machine."""
        path = shutil.which(name)
        return path or self.missing(name, HOW_TO_GET.get(name, f"apt install {name}"))

    def missing(self, what: str, how: str) -> NoReturn:
        """End the test because ``what`` is not here; ``how`` brings it."""
        reason = f"needs {what}: {how}"
        if CI:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def need() -> Need:
    """Asks for real parts: ``need.model()``, ``need.program("nginx")``."""
    return Need()


def skipped_in_vain(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped, or nothing where it was not or where the platform is the reason."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return ""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    return "" if reason.startswith(ELSEWHERE) else f"{report.nodeid}: {reason}"


class NothingIsSkipped:
    """Fails a run in which a test was skipped for want of a real part."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if reason := skipped_in_vain(report):
            self.skipped.append(reason)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skipped, which continuous integration does not allow", red=True)
            for reason in self.skipped:
                terminalreporter.line(reason)


def pytest_configure(config: pytest.Config) -> None:
    if CI and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NothingIsSkipped())
