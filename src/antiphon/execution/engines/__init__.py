"""Local engines: what generates tokens on this machine. A file each, ending in ``plugin = ...``; ``_`` marks private modules."""

from typing import Protocol, runtime_checkable

import msgspec

from antiphon.core.plugins import PluginGroup
from antiphon.core.ports import Engine

ENGINES = PluginGroup("antiphon.engines", "antiphon.execution.engines")


class EngineOptions(msgspec.Struct, frozen=True):
    """How an engine is to load a model."""

    model: str
    """Name of the model, for messages and ``EngineInfo.model``."""
    path: str
    """File or folder of the model on this machine."""
    cache_dir: str
    """Folder where the engine may keep what it derived from the model, for a faster start next time."""
    threads: int = 0
    """CPU threads for inference; 0 means all cores, less one where there are more than two."""
    context: int = 0
    """Context length in tokens; 0 means the model's own."""
    kv_cache_mb: int = 512
    """Memory for the KV cache, MiB. It bounds how many tokens all calls together can hold."""
    max_running: int = 64
    """Sequences decoded at once."""
    max_waiting: int = 256
    """Prompts that may wait for a place; more are refused."""
    precision: str = "default"
    """Name of a numeric precision that the engine knows."""
    adapters: dict[str, str] = {}
    """LoRA adapters: name to path."""


class EnginePlugin(Protocol):
    """What ``plugin`` of an engine's file is."""

    def supports(self, path: str) -> bool:
        """Whether ``path`` looks like a model that this engine can load. Reads a few bytes at most."""

    def load(self, options: EngineOptions) -> Engine:
        """Load the model and start the engine. Blocks for seconds; raises SetupError, NoMemory or NoSpace."""


@runtime_checkable
class Inspectable(Protocol):
    """What ``plugin`` of an engine's file may be besides: it tells what ``antiphon doctor`` shows, without loading a model."""

    def versions(self) -> str:
        """Name and version of the library that the engine stands on."""

    def memory_needed(self, options: EngineOptions) -> int:
        """Bytes that must be available to load this model now, roughly. The model's files are there."""
