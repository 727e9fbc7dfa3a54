"""A test that needs a real part is skipped on a developer's machine, and fails in continuous integration."""

import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

def test_needs(need):
    need.program("no-such-program")

def test_skips():
    pytest.skip("no reason")

def test_elsewhere():
    pytest.skip("only on another system")

@pytest.mark.xfail
def test_known():
    assert False
"""


@pytest.fixture
def run(pytester, monkeypatch):
    shutil.copy(Path(__file__).parents[1] / "conftest.py", pytester.path)
    pytester.makepyfile(TESTS)

    def run(ci: str, *arguments: str) -> pytest.RunResult:
        monkeypatch.setenv("CI", ci)
        return pytester.runpytest_inprocess("-p", "no:randomly", *arguments)

    return run


def test_a_developer_is_told_what_is_missing(run):
    result = run("false", "-rs")
    result.assert_outcomes(skipped=3, xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*needs no-such-program: apt install no-such-program*"])


def test_continuous_integration_fails_for_a_missing_part(run):
    result = run("true", "-k", "needs")
    result.assert_outcomes(failed=1)


def test_continuous_integration_fails_for_any_other_skip(run):
    result = run("true", "-k", "not needs")
    result.assert_outcomes(skipped=2, xfailed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_skips: no reason*"])
    result.stdout.no_fnmatch_line("*test_elsewhere: only on another system*")
