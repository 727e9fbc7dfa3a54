"""Reads the repository for the tests beside it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "antiphon"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(*folders: str) -> list[Path]:
    """Python files under the folders of the repository, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def text_files() -> list[Path]:
    """Every text that a person writes here: code, documentation, configuration."""
    top = [path for path in ROOT.iterdir() if path.is_file() and path.name not in {"LICENSE", ".git"}]
    folders = [
        path
        for folder in ("src", "tests", "docs", "benchmarks", "changelog.d", "examples", "deploy", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and "results" not in path.parts
    ]
    return sorted(path for path in top + folders if _is_text(path))


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" not in file.read(4096)


def name_of(path: Path) -> str:
    """The path as a reader knows it, from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Every function in a module with its dotted name."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + child.name, child
                yield from walk(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, f"{prefix}{child.name}.")
            else:
                yield from walk(child, prefix)

    yield from walk(tree, "")


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of the modules that the code imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
