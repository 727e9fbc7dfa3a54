"""The sizes that keep the code readable, and the few places that may catch everything or import late.

Whoever needs a new entry in a list below writes the reason beside it; an entry that is no longer needed fails too.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source import Function, functions, name_of, python_files

FILE_LINES = 600
FUNCTION_LINES = 100
PARAMETERS = 7

CATCHES_EVERYTHING: dict[str, str] = {
    "src/antiphon/execution/engines/_schema_queue.py: SchemaQueue._checked": "what compiling a schema raises is its call's",
    "src/antiphon/transport/client.py: _Connection.data_received": "a receiver's fault ends its call and never leaves it hanging",
    "src/antiphon/transport/client.py: _Connection._finish": "the same, behind the last byte",
    "src/antiphon/storage/sqlite_file.py: SqliteFile._work": "border of a thread: whoever waits for an answer gets one",
    "src/antiphon/testing/mock_upstream.py: _echo": "a request that makes the default answer fail is answered as bad",
    "src/antiphon/bootstrap/doctor/__init__.py: _made": "border to a check: whatever is wrong with it, the others are made",
    "src/antiphon/bootstrap/engine.py: _in_thread.body": "border of a thread: raised again where its outcome is awaited",
    "src/antiphon/bootstrap/process.py: Child.update": "border of the process: the old settings go on whatever the new ones raise",
    "src/antiphon/bootstrap/process.py: _enter": "border of the process: the supervisor hears of whatever ends it",
    "src/antiphon/cli/__init__.py: main": "border of the process: a person reads one line, not a traceback",
    "src/antiphon/execution/compute_host/turn.py: _Share.take": "border to a plugin: the encoder",
    "src/antiphon/execution/compute_host/turn.py: _encode": "border to a plugin: the encoder",
    "src/antiphon/execution/engine_host/host.py: EngineHost._prepared": "border to a plugin: the engine",
    "src/antiphon/execution/engines/_stepper.py: Stepper._run": "border to the engine's library: ends the engine, not the process",
    "src/antiphon/execution/engines/_stepper.py: Stepper._end": "border to the engine's library: it may be past closing",
    "src/antiphon/execution/engines/_stepper.py: _tell": "border to a listener: one that fails does not silence the others",
    "src/antiphon/gateway/pipeline.py: Pipeline._enter": "border of a call: one call's bug takes no other down",
    "src/antiphon/gateway/pipeline.py: Pipeline.close": "border of a stage: what one trips over costs the next not its turn",
    "src/antiphon/scheduling/choice.py: Choice._scores": "border to a plugin: a policy that fails has no say",
    "src/antiphon/scheduling/choice.py: Choice.candidates": "border to a plugin: a policy that fails has no say",
    "src/antiphon/supervisor/supervisor.py: Supervisor._tell": "border to the caller's code: a closed terminal ends no server",
    "src/antiphon/supervisor/supervisor.py: _in_thread.work": "border to the caller's code: a failed reload ends no server",
    "src/antiphon/testing/mock_upstream.py: _call": "border to a test's code: its failure becomes an answer that the test sees",
}
"""``file: function`` -> why nothing may escape from here (a border to a process, a plugin or a peer)."""

IMPORTS_LATE: dict[str, str] = {
    "src/antiphon/cli/acts.py: antiphon.bootstrap": "loads the database's libraries, which only a change needs",
    "src/antiphon/cli/chat.py: readline": "changes how input() behaves, so only a conversation loads it",
    "src/antiphon/bootstrap/access.py: antiphon.governance.roles.cedar": "13 MB, which only policies of the operator's own need",
    "src/antiphon/config/access.py: antiphon.governance.roles.cedar": "the same",
    "src/antiphon/cli/simulate/__init__.py: antiphon.cli.simulate.picture": "needs matplotlib, so only a picture loads it",
}
"""``file: module`` -> why it is imported inside a function (optional, or heavy and not always needed)."""


def long_functions(tree: ast.Module) -> list[str]:
    return [
        f"{name}: {length} lines"
        for name, function in functions(tree)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    ]


def many_parameters(tree: ast.Module) -> list[str]:
    return [f"{name}: {count} parameters" for name, function in functions(tree) if (count := _parameters(function)) > PARAMETERS]


def _parameters(function: Function) -> int:
    args = function.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def catches_everything(tree: ast.Module) -> set[str]:
    """Functions with a handler that takes any exception and does not end in raising one."""
    return {name for name, handler in _handlers(tree) if _is_broad(handler.type) and not _raises_again(handler)}


def _handlers(tree: ast.Module) -> Iterator[tuple[str, ast.ExceptHandler]]:
    for name, function in functions(tree):
        for statement in function.body:
            for node in _without_nested(statement):
                if isinstance(node, ast.ExceptHandler):
                    yield name, node
    for statement in tree.body:
        for node in _without_nested(statement):
            if isinstance(node, ast.ExceptHandler):
                yield "<module>", node


def _without_nested(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, but not what is inside a function or class of its own."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _without_nested(child)


def _is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"} for name in names)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)


def imports_late(tree: ast.Module) -> set[str]:
    """Modules imported inside functions."""
    found: set[str] = set()
    for _, function in functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or ".")
    return found


def _everywhere(check: str) -> set[str]:
    found: set[str] = set()
    for path in python_files("src"):
        found.update(f"{name_of(path)}: {what}" for what in globals()[check](ast.parse(path.read_text())))
    return found


@pytest.mark.parametrize("path", python_files("src", "tests", "benchmarks"), ids=name_of)
def test_sizes(path):
    source = path.read_text()
    tree = ast.parse(source)
    too_long = [f"{lines} lines"] if (lines := len(source.splitlines())) > FILE_LINES else []
    too_many = many_parameters(tree) if name_of(path).startswith("src/") else []
    assert too_long + long_functions(tree) + too_many == []


def test_only_borders_catch_everything():
    assert _everywhere("catches_everything") == set(CATCHES_EVERYTHING)


def test_only_optional_and_heavy_modules_are_imported_late():
    assert _everywhere("imports_late") == set(IMPORTS_LATE)


def test_the_checks_find_what_they_look_for():
    body = "\n".join(["    x = 1"] * 100)
    tree = ast.parse(f"""
class Thing:
    def method(self, a, b, c, d, e, f, g, *, h): ...

    def fits(self, a, b, c, d, e, f, *, g): ...

def long():
{body}

def broad():
    import json
    try:
        pass
    except (ValueError, Exception):
        pass

def cleans_up():
    try:
        pass
    except BaseException:
        print()
        raise

def nested():
    def inner():
        try:
            pass
        except:
            return
""")
    assert long_functions(tree) == ["long: 101 lines"]
    assert many_parameters(tree) == ["Thing.method: 8 parameters"]
    assert catches_everything(tree) == {"broad", "nested.inner"}
    assert imports_late(tree) == {"json"}
