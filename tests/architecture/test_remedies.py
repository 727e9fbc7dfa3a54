"""No error leaves whoever reads it without a next step: each is raised with a remedy, or its class has a usual one."""

import ast
import inspect
from collections.abc import Iterator

from antiphon.core import errors
from tests.architecture.source import name_of, python_files


def without_remedy(tree: ast.AST, usual: dict[str, str]) -> Iterator[int]:
    """Lines on which an error is made that says nothing of what to do; ``usual`` has the remedy of each class by name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in usual and not usual[name]:
            given = [keyword.value for keyword in node.keywords if keyword.arg == "remedy"]
            if not given or _may_be_empty(given[0]):
                yield node.lineno


def _may_be_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _may_be_empty(value.body) or _may_be_empty(value.orelse)
    return isinstance(value, ast.Constant) and not value.value


def test_every_error_is_raised_with_a_remedy():
    classes: dict[str, type[errors.AntiphonError]] = {
        name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.AntiphonError)
    }
    del classes["UpstreamRefused"]  # has one for each status
    usual = {name: kind.usual_remedy for name, kind in classes.items()}
    found = [
        f"{name_of(path)}:{line}" for path in python_files("src") for line in without_remedy(ast.parse(path.read_text()), usual)
    ]
    assert found == []


def test_the_check_finds_what_it_looks_for():
    usual = {"Sad": "", "Calm": "wait"}
    source = """
raise Sad("a")
raise Sad("b", remedy="")
raise errors.Sad("c", remedy="run" if x else "")
raise Sad("d", remedy="run")
raise Sad("e", remedy=words)
raise Calm("f")
"""
    assert list(without_remedy(ast.parse(source), usual)) == [2, 3, 4]
