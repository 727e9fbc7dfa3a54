"""Finds plugins: one file each, ending in ``plugin = ...``, by file name or by entry point of the same group."""

import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import Any

from antiphon.core.errors import ConfigError


class PluginGroup:
    """The plugins of one kind, loaded when first used.

    ``group`` is the entry-point group (``antiphon.engines``); ``package`` is the package whose modules are the built-in ones.
    """

    def __init__(self, group: str, package: str) -> None:
        self.group = group
        self.package = package
        self._loaded: dict[str, Any] = {}

    def names(self) -> list[str]:
        """Names of all plugins that could be loaded, sorted."""
        path = importlib.import_module(self.package).__path__
        built_in = {module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")}
        return sorted(built_in | {entry.name for entry in entry_points(group=self.group)})

    def load(self, name: str) -> Any:
        """The plugin of that name. Raises ConfigError naming the known ones where there is none."""
        if name not in self._loaded:
            self._loaded[name] = self._find(name)
        return self._loaded[name]

    def _find(self, name: str) -> Any:
        for entry in entry_points(group=self.group, name=name):
            return entry.load()
        if name not in self.names():
            noun = self.group.rpartition(".")[2].removesuffix("s").replace("policie", "policy")
            raise ConfigError(f'{noun} "{name}" is not known', remedy=f"known: {', '.join(self.names())}")
        module = importlib.import_module(f"{self.package}.{name}")
        return module.plugin
