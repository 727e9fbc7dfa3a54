from pathlib import Path
from typing import Any

import pytest
import typer

from antiphon import cli
from antiphon.cli.reference import reference as commands_page
from antiphon.config.protocols import page as protocols_page
from antiphon.config.protocols import protocols
from antiphon.config.reference import reference as settings_page

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize(
    ("page", "made", "command"),
    [
        ("configuration.md", settings_page, "antiphon config reference"),
        ("protocols.md", lambda: protocols_page(protocols()), "antiphon config protocols --markdown"),
        ("cli.md", commands_page, "python -m antiphon.cli.reference"),
    ],
)
def test_the_page_in_the_documentation_is_the_one_that_the_code_writes(page, made, command):
    assert (REFERENCE / page).read_text() == made(), f'run "{command} > docs/reference/{page}"'


def commands(application: typer.Typer) -> list[str]:
    command: Any = typer.main.get_command(application)
    return list(command.commands)


def test_every_command_is_there_whether_loaded_alone_or_with_all():
    names = commands(cli.app)
    assert names == list(cli.COMMANDS)
    for name in names:
        assert commands(cli.build([name])) == [name]


def test_nothing_else_is_made_up():
    with pytest.raises(AttributeError):
        _ = cli.nonsense
