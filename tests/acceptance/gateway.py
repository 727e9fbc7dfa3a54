"""A running ``antiphon serve`` with several workers in front of a scripted provider, and nothing else."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.testing import MockUpstream
from tests.acceptance.served import Server

PATIENCE = 60.0


class Gateway:
    """``settings`` of the server are merged into the defaults of these tests."""

    def __init__(self, folder: Path, upstream: MockUpstream, *, aliases: dict[str, str] | None = None, **settings: Any) -> None:
        self.upstream = upstream
        self.file = folder / "antiphon.yaml"
        self.data = folder / "data"
        self.rows: dict[str, Any] = {
            "server": {"port": 0, "grace": 3, "log_calls": False} | settings,
            "models": [],
            "embeddings": {"enabled": False},
            "providers": [{"name": "mock", "url": upstream.url, "models": ["mock-model"]}],
            "data_dir": str(self.data),
            "cache_dir": str(folder / "cache"),
        }
        self.write(aliases=aliases or {})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "antiphon", "serve"], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.server = Server(self.process, PATIENCE)
        self.url = self.server.wait_said(r"(https?://127\.0\.0\.1:\d+)/v1")[1]

    def write(self, **rows: Any) -> None:
        """Write the configuration anew, with these rows besides."""
        self.file.write_text(json.dumps(self.rows | rows, indent=1))

    def get(self, path: str) -> Any:
        """What a path answers: JSON decoded, anything else as text. Each time on a connection of its own."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            body = answer.read()
        return json.loads(body) if body.startswith(b"{") else body.decode()

    def processes(self) -> list[Any]:
        return list(self.get("/admin/processes")["processes"])

    def stop(self) -> int:
        return self.server.end()


def until(condition: Callable[[], object], what: Callable[[], object] = lambda: "it did not come to pass") -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)
