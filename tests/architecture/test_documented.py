"""The documentation keeps up with the code: pages, settings, commands, errors, changelog; and no loose ends in either."""

import ast
import inspect
import re
from pathlib import Path

import msgspec
import pytest
import typer
import yaml

from antiphon import cli, config
from antiphon.core import errors
from antiphon_client import errors as client_errors
from tests.architecture.source import PACKAGE, ROOT, name_of, text_files

DOCS = ROOT / "docs"
FRAGMENT = re.compile(r"\+[a-z0-9-]+\.(added|changed|fixed|removed|security)\.md")
LOOSE_ENDS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.$}~-])/(work|home|root|Users|mnt|opt)/(?!somebody)[\w.]|\.\./sha" + "red")


def settings_of(struct: type[msgspec.Struct], prefix: str = "") -> list[str]:
    """Dotted names of every setting below a struct; those of a list's items follow the list's own name."""
    names = []
    for field in msgspec.structs.fields(struct):
        name = f"{prefix}{field.encode_name}"
        names.append(name)
        for inner in _structs_in(field.type):
            names += settings_of(inner, f"{name}.")
    return names


def _structs_in(annotation: object) -> list[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    parts = getattr(annotation, "__args__", ())
    return [struct for part in parts for struct in _structs_in(part)]


def undocumented_fields(source: str) -> list[str]:
    """Annotated fields of structs without a docstring under them."""
    found = []
    for node in ast.parse(source).body:
        if not (isinstance(node, ast.ClassDef) and any("Struct" in ast.unparse(base) for base in node.bases)):
            continue
        for field, below in zip(node.body, [*node.body[1:], None], strict=True):
            documented = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and not documented:
                found.append(f"{node.name}.{ast.unparse(field.target)}")
    return found


def commands_of(command: object, name: str) -> list[str]:
    """Full names of a command and of all that are below it, hidden ones left out."""
    subcommands = getattr(command, "commands", {})
    found = [name] if not subcommands else []
    for key, below in subcommands.items():
        if not below.hidden:
            found += commands_of(below, f"{name} {key}")
    return found


def tree_in_docstring(docstring: str) -> dict[str, str]:
    """Class -> parent, as drawn with box characters, four columns a level."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in docstring.splitlines():
        match = re.fullmatch(r"    ((?:│   |    )*(?:├── |└── )?)([A-Z]\w*)(?: .*)?", line)
        if match:
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            if depth:
                parents[match[2]] = path[depth - 1]
    return parents


def error_classes() -> list[type[errors.AntiphonError]]:
    return [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.AntiphonError)]


def pages_in(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in pages_in(part)]  # type: ignore[attr-defined]


def bad_fragments(folder: Path) -> list[str]:
    """Changelog fragments with a wrong name, or that are not one line."""
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name != "README.md" and not (FRAGMENT.fullmatch(path.name) and len(path.read_text().strip().splitlines()) == 1)
    ]


def test_every_setting_is_in_the_reference():
    reference = (DOCS / "reference" / "configuration.md").read_text()
    assert [name for name in settings_of(config.Settings) if not _mentions(reference, name)] == []


def _mentions(reference: str, setting: str) -> bool:
    """The reference has the setting's name in code type, whole or below a heading or row of the setting that holds it."""
    parts = setting.split(".")
    return any(f"`{'.'.join(parts[start:])}`" in reference for start in range(len(parts)))


def test_every_setting_has_its_docstring():
    assert undocumented_fields((PACKAGE / "config" / "settings.py").read_text()) == []


def test_every_command_is_in_the_reference():
    reference = (DOCS / "reference" / "cli.md").read_text()
    assert [name for name in commands_of(typer.main.get_command(cli.build()), "antiphon") if f"`{name}`" not in reference] == []


def test_the_tree_of_errors_is_the_one_that_is_drawn():
    actual = {kind.__name__: kind.__mro__[1].__name__ for kind in error_classes() if kind is not errors.AntiphonError}
    assert tree_in_docstring(errors.__doc__ or "") == actual


def test_the_tree_of_the_clients_errors_is_the_one_that_is_drawn():
    classes = [kind for _, kind in inspect.getmembers(client_errors, inspect.isclass) if issubclass(kind, Exception)]
    actual = {kind.__name__: kind.__mro__[1].__name__ for kind in classes if kind is not client_errors.AntiphonClientError}
    assert tree_in_docstring(client_errors.__doc__ or "") == actual


def test_every_error_has_a_message_and_a_code_of_its_own():
    for kind in error_classes():
        assert kind.__doc__, kind
        assert re.fullmatch(r"[a-z_]+", kind.code), kind


def test_every_page_is_in_the_navigation_once():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert sorted(pages_in(nav)) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_changelog_fragments_are_one_line_and_named_right():
    assert bad_fragments(ROOT / "changelog.d") == []


@pytest.mark.parametrize("pattern", [LOOSE_ENDS, MACHINE_PATHS], ids=["loose ends", "machine paths"])
def test_no_text_has(pattern):
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:100]}"
        for path in text_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_the_checks_find_what_they_look_for(tmp_path):
    class Inner(msgspec.Struct):
        depth: int = 0

    class Outer(msgspec.Struct):
        inner: Inner
        many: tuple[Inner, ...] = ()

    assert settings_of(Outer) == ["inner", "inner.depth", "many", "many.depth"]
    assert _mentions("the `many.depth` of", "many.depth")
    assert _mentions("| `depth` |", "many.depth")
    assert not _mentions("many.depth", "many.depth")
    assert undocumented_fields('class A(msgspec.Struct):\n    x: int\n    """X."""\n    y: int\n    z: int\n    """Z."""') == [
        "A.y"
    ]
    assert tree_in_docstring("    A\n    ├── B      why\n    │   └── C\n    └── D") == {"B": "A", "C": "B", "D": "A"}
    assert pages_in([{"Home": "index.md"}, {"More": [{"A": "a.md"}, "b.md"]}]) == ["index.md", "a.md", "b.md"]
    (tmp_path / "+good.added.md").write_text("One line.\n")
    (tmp_path / "12.added.md").write_text("One line.\n")
    (tmp_path / "+two.fixed.md").write_text("Two\nlines.\n")
    assert bad_fragments(tmp_path) == ["+two.fixed.md", "12.added.md"]
    assert LOOSE_ENDS.search("# TO" + "DO: later")
    assert MACHINE_PATHS.search('open("/ho' + 'me/me/file")')
    assert not MACHINE_PATHS.search("https://host/home/page and ~/wo" + "rk/x and src/wo" + "rk/x")


def test_the_file_of_the_quickstart_keeps_the_default_model(tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(.*?)```", (DOCS / "quickstart.md").read_text(), re.DOTALL)
    assert block is not None
    file = tmp_path / "antiphon.yaml"
    file.write_text(block[1])
    assert config.load(file, {"GROQ_API_KEY": "key"}).models == (config.DEFAULT_MODEL,)


def test_no_page_seeks_a_server_by_its_name():
    """On a shared machine the first one that is found may be somebody else's."""
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    assert [str(page) for page in pages if re.search(r"\bp(grep|kill)\b|\bkillall\b", page.read_text())] == []


def test_pages_take_the_command_for_known_once_they_have_said_how_to_get_it():
    """A reader copies what stands there, so it is written in one way wherever a shell has been told of the command."""
    pages = [DOCS / "quickstart.md", *(DOCS / "how-to").glob("*.md"), DOCS / "troubleshooting.md"]
    assert [str(page) for page in pages if re.search(r"^\.venv/bin/antiphon ", page.read_text(), re.MULTILINE)] == []
    assert all(". .venv/bin/activate" in page.read_text() for page in (ROOT / "README.md", DOCS / "index.md", pages[0]))


def test_what_the_pages_tell_a_user_to_write_into_this_folder_is_not_committed():
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"/antiphon.yaml", "/keys", "/secrets/"} <= set(ignored)
