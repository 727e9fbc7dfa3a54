"""``antiphon serve`` with one local model, with a route in front of it or without."""

import contextlib
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from antiphon.config.settings import BUILT_IN_MODELS, LocalModelSettings
from benchmarks.processes import Process, Trouble, free_port
from benchmarks.reality.streams import Place

LOADING = 600.0
"""Seconds that a model gets to load; the first time it is fetched and converted."""
MAX_WAIT = 600.0
"""Seconds that a call may wait at the route: as long as it takes, so that none is refused."""
THREADS = 1
"""That compute. Gateway and callers are on this machine too, and an engine whose threads wait for each other is slowed down by
whoever takes one of its cores."""
MAX_RUNNING = 64
"""Sequences that the engine decodes at once, and calls that the route lets to it."""


@contextlib.contextmanager
def served(model: str, folder: Path, *, scheduled: bool, file: Path | None = None) -> Iterator[Place]:
    """The server, on a free port. Its calls are logged into ``calls.log`` in ``folder``.

    ``model``: name of a built-in model; with ``file`` any name, for the model in that file. ``scheduled``: put a route with policy
    ``balanced`` in front of it, whose one replica it is. Raises Trouble where the server does not come up.
    """
    port = free_port()
    settings: dict[str, Any] = {
        "server": {"port": port},
        "models": [_row(model, file)],
        "embeddings": {"enabled": False},
        "routes": [_route(model)] if scheduled else [],
        "data_dir": str(folder / "data"),
    }
    if file is not None:
        settings["cache_dir"] = str(folder / "cache")
    config = folder / "antiphon.yaml"
    config.write_text(json.dumps(settings, indent=1))
    command = [sys.executable, "-m", "antiphon", "serve", "--config", str(config)]
    process = Process("antiphon serve", command, folder / "calls.log")
    try:
        process.wait_until(lambda: _ready(port), LOADING)
        yield Place(port, model)
    finally:
        process.stop(15.0)


def _row(model: str, file: Path | None) -> dict[str, Any]:
    if file is None and model not in BUILT_IN_MODELS:
        raise Trouble(
            f'there is no built-in model "{model}": known are {", ".join(BUILT_IN_MODELS)}; name the file of another with --file'
        )
    given = BUILT_IN_MODELS[model] if file is None else LocalModelSettings(name=model, source=f"file:{file}")
    return {"name": model, "source": given.source, "sha256": given.sha256, "threads": THREADS, "max_running": MAX_RUNNING}


def _route(model: str) -> dict[str, Any]:
    return {"name": model, "policy": ["balanced"], "max_calls": MAX_RUNNING, "p1": {"max_wait": MAX_WAIT}}


def cache_usage(place: Place) -> float:
    """Share of the engine's KV memory in use; 0 where the server does not tell."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{place.port}/metrics", timeout=10) as answer:
            found = re.search(rb"^antiphon_engine_kv_cache_usage_ratio\{.*\} (\S+)$", answer.read(), re.MULTILINE)
    except (OSError, urllib.error.URLError):
        return 0.0
    return float(found[1]) if found else 0.0


def _ready(port: int) -> bool:
    """Whether every part says so itself: an engine that loads may be too busy to answer, and that alone does not count here."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
            parts = json.load(answer)["parts"].values()
            return all(part == "ok" for part in parts)
    except (OSError, urllib.error.URLError):
        return False
