"""The process of mock replicas, as a drill orders it about."""

import sys
import urllib.request
from pathlib import Path

import msgspec

from benchmarks.processes import Process
from benchmarks.scheduler.drills.replicas import Happened, Setting, Trouble

READY = 30.0
"""Seconds that the process gets until it serves."""


class Mocks:
    """Mock replicas in a process of their own."""

    def __init__(self, count: int, folder: Path) -> None:
        log = folder / "replicas.log"
        command = (sys.executable, "-m", "benchmarks.scheduler.drills.replicas", str(count))
        self.process = Process("the mock replicas", command, log)
        try:
            self.process.wait_until(lambda: log.read_text().endswith("]\n"), READY)
        except BaseException:
            self.process.stop()
            raise
        self._orders, *self.ports = msgspec.json.decode(log.read_bytes(), type=list[int])

    def reset(self, setting: Setting) -> None:
        """All begin anew, with empty caches and no trouble."""
        self._order("/reset", msgspec.json.encode(setting))

    def befall(self, trouble: Trouble) -> None:
        """Something is wrong with one of them from now on."""
        self._order("/trouble", msgspec.json.encode(trouble))

    def state(self) -> list[Happened]:
        """What each has done since the reset."""
        return msgspec.json.decode(self._order("/state"), type=list[Happened])

    def stop(self) -> None:
        """End the process."""
        self.process.stop()

    def _order(self, path: str, body: bytes = b"") -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self._orders}{path}", data=body, method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bytes(answer.read())
