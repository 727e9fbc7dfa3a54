"""A real data plane behind nothing but what its configuration names: one worker alone, or a whole server with several."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import openai

from antiphon.bootstrap.process import ProcessSpec, encode_spec
from antiphon.config import Settings, load
from antiphon.transport.listeners import tcp_listener

PATIENCE = 60.0
"""Seconds until a server serves."""

EMPTY = "models: []\nembeddings: {enabled: false}\n"


class Running:
    """A process that answers at ``url``. ``log`` holds its log, one line of JSON per call."""

    process: subprocess.Popen[bytes]
    port: int

    def __init__(self, configuration: str, folder: Path) -> None:
        self._clients: list[openai.OpenAI] = []
        self.file = folder / "antiphon.yaml"
        self.file.write_text(configuration)
        self.log_path = folder / "worker.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, key: str = "sk-test") -> openai.OpenAI:
        """The official client, which tries nothing twice; closed with the process."""
        self._clients.append(openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=20))
        return self._clients[-1]

    def calls(self) -> list[dict[str, Any]]:
        """What was logged, complete once it has been stopped."""
        return [json.loads(line) for line in self.log_path.read_text().splitlines() if line.startswith("{")]

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


class DataPlaneProcess(Running):
    """A worker without a supervisor."""

    def __init__(self, configuration: str, folder: Path, local: str = EMPTY, environ: Mapping[str, str] | None = None) -> None:
        super().__init__(local + configuration, folder)
        self.settings: Settings = load(self.file, {"HOME": str(folder), **(environ or {})})
        self.run_dir = tempfile.mkdtemp(prefix="ap-")
        listener = tcp_listener("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        told, tells = os.pipe()
        spec = ProcessSpec("worker", "worker-0", 1, self.run_dir, self.settings, tells, (listener.fileno(),))
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "antiphon.bootstrap.worker"],
                stdin=subprocess.PIPE,
                stderr=log,
                pass_fds=(tells, listener.fileno()),
            )
        assert self.process.stdin is not None
        self.process.stdin.write(encode_spec(spec))
        self.process.stdin.flush()
        os.close(tells)
        listener.close()
        with os.fdopen(told, "rb") as states:
            state = states.readline()
        assert b"ready" in state, (state, self.log_path.read_text())

    def stop(self) -> None:
        super().stop()
        assert self.process.stdin is not None
        self.process.stdin.close()
        shutil.rmtree(self.run_dir, ignore_errors=True)


class WholeServer(Running):
    """``antiphon serve`` with several workers."""

    def __init__(self, configuration: str, folder: Path, workers: int) -> None:
        super().__init__(EMPTY + configuration, folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")}
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "antiphon", "serve", "--config", self.file, "--port", "0", "--workers", str(workers)],
                cwd=folder,
                env={**environment, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CACHE_HOME": str(folder)},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while not (told := re.search(r"serving .* on http://127\.0\.0\.1:(\d+)", self.log_path.read_text())):
            assert self.process.poll() is None, self.log_path.read_text()
            assert time.monotonic() < deadline, self.log_path.read_text()
            time.sleep(0.02)
        self.port = int(told[1])


def provider(name: str, url: str, /, **more: Any) -> str:
    """One row of configuration; ``more`` may name another url."""
    row = {"name": name, "url": url, "models": ["mock-model"], **more}
    return msgspec.json.encode(row).decode()
