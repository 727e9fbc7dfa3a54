"""What may be compiled keeps to what the compiler can do."""

import ast
import tomllib

import pytest

from tests.architecture.source import ROOT

HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]


@pytest.mark.parametrize("path", HOOK["include"])
def test_a_compiled_module_defines_no_structs(path: str) -> None:
    """mypyc passes no class arguments on, so that ``frozen=True`` would be lost without a word."""
    tree = ast.parse((ROOT / path).read_text())
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert not [node.name for node in classes if node.keywords or any("Struct" in ast.unparse(base) for base in node.bases)]


@pytest.mark.parametrize("path", HOOK["include"])
def test_a_compiled_class_has_compiled_bases(path: str) -> None:
    """One that has not is an ordinary class, as slow as before."""
    tree = ast.parse((ROOT / path).read_text())
    bases = {ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
    local = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert bases - local <= {"Timed", "Protocol", "NamedTuple"}
