"""What may be compiled to machine code keeps to the compiler's rules, which only a compiled wheel would show otherwise."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
COMPILED = frozenset(HOOK["include"])


def modules() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src" / "antiphon").rglob("*.py"))


def bases(path: str) -> set[str]:
    """Modules, as files, that the bases of a module's classes are imported from."""
    tree = ast.parse((ROOT / path).read_text())
    origin = {
        name.asname or name.name: "src/" + node.module.replace(".", "/") + ".py"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {origin[base.id] for node in classes for base in node.bases if isinstance(base, ast.Name) and base.id in origin}


def test_each_module_that_may_be_compiled_is_there() -> None:
    assert set(modules()) >= COMPILED


@pytest.mark.parametrize("path", [path for path in modules() if path not in COMPILED])
def test_no_class_that_is_not_compiled_has_a_compiled_base(path: str) -> None:
    assert not bases(path) & COMPILED, "add the module to the list in pyproject.toml, or do without the base"


def suspended(node: ast.AST, *, handling: bool = False) -> Iterator[int]:
    """Lines where a function stops for a while with an exception at hand."""
    if handling and isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
        yield node.lineno
    if isinstance(node, ast.AsyncWith):
        yield node.lineno
    handlers = [*node.handlers, *node.finalbody] if isinstance(node, (ast.Try, ast.TryStar)) else []
    for child in ast.iter_child_nodes(node):
        inner = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from suspended(child, handling=not inner and (handling or child in handlers))


@pytest.mark.parametrize("path", sorted(COMPILED))
def test_nothing_compiled_is_suspended_while_it_handles_an_exception(path: str) -> None:
    # Compiled generators and coroutines do not take the exception with them: it would be the context of all that follow.
    lines = list(suspended(ast.parse((ROOT / path).read_text())))
    assert not lines, "yield and await behind the except, or in a function that is not compiled"


def test_suspended_functions_are_seen() -> None:
    lines = list(suspended(ast.parse("try:\n f()\nexcept E:\n yield 1\nfinally:\n g(lambda: (yield))\n await h()\nyield 2")))
    assert lines == [4, 7]
