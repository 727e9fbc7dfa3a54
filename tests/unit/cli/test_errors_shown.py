import json
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.cli.output import report
from antiphon.config import ConfigErrors
from antiphon.core.errors import ConfigError, PortBusy

PLACED = ConfigError("it is wrong", remedy="mend it", file="a.yaml", line=2, column=3, key="server.port")


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


def test_an_error_is_a_line_and_a_remedy(capsys):
    assert report(PortBusy("port 80 is taken", remedy="choose another")) == 1
    assert capsys.readouterr() == ("", "error: port 80 is taken\n  remedy: choose another\n")


def test_errors_of_the_configuration_have_their_place_and_exit_code(capsys):
    assert report(ConfigErrors([PLACED, ConfigError("worse", file="a.yaml")])) == 2
    assert capsys.readouterr().err == "error: a.yaml:2:3: it is wrong\n  remedy: mend it\nerror: a.yaml: worse\n"


def test_errors_for_scripts(capsys):
    report(ConfigErrors([PLACED, ConfigError("worse", file="a.yaml")]), as_json=True)
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["message"] == "the configuration has 2 errors"
    assert error["errors"] == [
        {
            "code": "invalid_configuration",
            "message": "it is wrong",
            "remedy": "mend it",
            "file": "a.yaml",
            "line": 2,
            "column": 3,
            "key": "server.port",
        },
        {"code": "invalid_configuration", "message": "worse", "file": "a.yaml"},
    ]


@pytest.fixture
def broken(monkeypatch):
    """Makes every command raise."""

    def install(error: BaseException) -> None:
        def application(args: list[str], prog_name: str) -> None:
            raise error

        monkeypatch.setattr(cli, "build", lambda commands: application)

    return install


def test_what_nobody_thought_of_is_one_line_too(broken, capsys):
    broken(ZeroDivisionError("by zero"))
    assert cli.main(["version"]) == 1
    assert capsys.readouterr().err == (
        'error: unexpected ZeroDivisionError: by zero\n  remedy: run it again as "antiphon --debug ..." to see where\n'
    )


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), PortBusy("taken")])
def test_debug_shows_the_traceback(broken, capsys, error):
    broken(error)
    assert cli.main(["--debug", "version"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(3), 3), (SystemExit(None), 0), (SystemExit("x"), 1)]
)
def test_exit_codes(broken, error, code):
    broken(error)
    assert cli.main(["version"]) == code


def test_a_full_output_is_told_as_such():
    code = "import sys; from antiphon.cli import main; sys.exit(main(['version', '--json']))"
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert "the output cannot be written: No space left on device" in ended.stderr
    assert "Exception ignored" not in ended.stderr
