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


def constants(path: str) -> set[str]:
    """Names that a module declares ``Final``: the compiler writes their values where they are used."""
    tree = ast.parse((ROOT / path).read_text())
    return {
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "Final" in ast.unparse(node.annotation)
    }


def exchanged(source: str) -> Iterator[tuple[str, str]]:
    """Files of the modules, and names in them, that a test puts other values in the place of."""
    tree = ast.parse(source)
    modules = {
        name.asname or name.name: f"src/{node.module.replace('.', '/')}/{name.name}.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "monkeypatch.setattr" and len(node.args) == 3:
            module, name = node.args[0], node.args[1]
            if isinstance(module, ast.Name) and module.id in modules and isinstance(name, ast.Constant):
                yield modules[module.id], str(name.value)


def test_no_test_exchanges_a_constant_that_the_compiler_has_written_everywhere() -> None:
    found = {
        (str(file.relative_to(ROOT)), name)
        for file in (ROOT / "tests").rglob("test_*.py")
        for path, name in exchanged(file.read_text())
        if path in COMPILED and name in constants(path)
    }
    assert found == set(), "declare it without Final"


def test_exchanged_constants_are_seen() -> None:
    source = (
        "from antiphon.a import b as c\ndef test(monkeypatch):\n monkeypatch.setattr(c, 'D', 1)\n monkeypatch.setattr(e, 'F', 1)"
    )
    assert list(exchanged(source)) == [("src/antiphon/a/b.py", "D")]
