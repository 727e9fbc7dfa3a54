"""The README says the same in every language: the same headings, the same commands and programs, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
COMMENT = re.compile(r"\s+#\s.*$", re.MULTILINE)


def headings(text: str) -> list[str]:
    """The marks of each heading outside of code, in their order."""
    return re.findall(r"^(#+) ", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)


def code(text: str) -> list[tuple[str, str]]:
    """Each block of code with its language, without the comments, which are translated."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(language, COMMENT.sub("", block)) for language, block in blocks]


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", text)


def dead_links(file: Path) -> list[str]:
    """Links of a page to files that are not there."""
    targets = [link.partition("#")[0] for link in links(file.read_text()) if not re.match(r"[a-z]+:", link)]
    return [target for target in targets if target and not (file.parent / target).exists()]


def test_both_have_the_same_headings():
    assert headings(CHINESE.read_text()) == headings(ENGLISH.read_text())


def test_both_have_the_same_commands_and_programs():
    assert code(CHINESE.read_text()) == code(ENGLISH.read_text())


def test_both_name_the_same_things_in_code_type():
    def names(file: Path) -> set[str]:
        return set(re.findall(r"(?<!`)`([^`\n]+)`(?!`)", file.read_text()))

    assert names(CHINESE) == names(ENGLISH)


def test_both_lead_to_the_same_pages_and_to_each_other():
    other = {"README.md", "README.zh-CN.md"}
    english, chinese = links(ENGLISH.read_text()), links(CHINESE.read_text())
    assert [link for link in chinese if link not in other] == [link for link in english if link not in other]
    assert "README.zh-CN.md" in english[:1]
    assert "README.md" in chinese[:1]


@pytest.mark.parametrize("file", [ENGLISH, CHINESE], ids=lambda file: file.name)
def test_every_link_leads_somewhere(file):
    assert dead_links(file) == []


def test_the_checks_find_what_they_look_for(tmp_path):
    assert headings("# A\n```\n# no\n```\n## B\n") == ["#", "##"]
    assert code("```sh\nrun it   # now\n```\n") == [("sh", "run it\n")]
    page = tmp_path / "page.md"
    page.write_text("[a](b.md) [c](page.md#d) [e](https://f) [g](#h)")
    assert dead_links(page) == ["b.md"]
