"""What may be compiled keeps to what the compiler can do."""

import ast
import tomllib

import pytest

from tests.architecture.source import ROOT

HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]


def classes(path: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("path", HOOK["include"])
def test_a_compiled_module_defines_no_structs(path: str) -> None:
    """mypyc passes no class arguments on, so that ``frozen=True`` would be lost without a word."""
    assert not [node.name for node in classes(path) if node.keywords or any("Struct" in ast.unparse(base) for base in node.bases)]


@pytest.mark.parametrize("path", HOOK["include"])
def test_a_compiled_class_has_compiled_bases(path: str) -> None:
    """One that has not is an ordinary class, as slow as before."""
    bases = {ast.unparse(base) for node in classes(path) for base in node.bases}
    compiled = {node.name for module in HOOK["include"] for node in classes(module)}
    assert bases - compiled <= {"Protocol", "NamedTuple"}
