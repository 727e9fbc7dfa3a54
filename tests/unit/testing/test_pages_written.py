"""The commands that write pages of the documentation."""

from pathlib import Path

import pytest

from antiphon.core.errors import ConfigError
from antiphon.testing.fidelity import page as fidelity
from antiphon.testing.matrix import page as matrix


@pytest.mark.parametrize("command", [matrix, fidelity], ids=["matrix", "fidelity"])
def test_a_page_goes_into_the_file_that_is_named(command, monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setattr(command, "page", lambda: "# A page\n")
    assert command.main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text().startswith("# A page\n")
    assert capsys.readouterr().out == ""
    assert command.main([]) == 0
    assert capsys.readouterr().out.startswith("# A page\n")


@pytest.mark.parametrize("broken", [ModuleNotFoundError("no botocore", name="botocore"), ConfigError("bedrock needs botocore")])
def test_without_the_tools_for_tests_it_says_what_to_install_and_leaves_the_page_alone(broken, monkeypatch, tmp_path: Path, capsys):
    old = tmp_path / "page.md"
    old.write_text("as it was")

    def unmade() -> str:
        raise broken

    monkeypatch.setattr(matrix, "page", unmade)
    assert matrix.main([str(old)]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert '"make setup" installs' in said.err
    assert old.read_text() == "as it was"
