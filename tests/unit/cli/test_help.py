import pytest

from antiphon import cli
from antiphon.cli.application import command_of


def flags(command, name):
    """Each flag that a command and those below it take, with what its help shows for a type."""
    below = getattr(command, "commands", {})
    for key, child in below.items():
        yield from flags(child, f"{name} {key}")
    yield from (
        (f"{name} {parameter.opts[0]}", parameter.metavar) for parameter in command.params if getattr(parameter, "is_flag", 0)
    )


def test_no_flag_shows_a_type():
    shown = dict(flags(command_of(cli.build()), "antiphon"))
    assert len(shown) > 10
    assert {name: metavar for name, metavar in shown.items() if metavar != ""} == {}


@pytest.mark.parametrize("command", ["serve", "chat", "models", "doctor", "bench"])
def test_help_has_no_noise(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    for arguments in (["--help"], [command, "--help"]):
        assert cli.main(arguments) == 0
        shown = capsys.readouterr().out
        assert "--help" in shown
        assert "<bool>" not in shown
