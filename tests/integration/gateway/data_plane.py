"""A real data-plane worker, a process of its own, with nothing behind it but what its configuration names."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import openai

from antiphon.bootstrap.process import ProcessSpec, encode_spec
from antiphon.config import Settings, load
from antiphon.transport.listeners import tcp_listener

EMPTY = "models: []\nembeddings: {enabled: false}\n"


class DataPlaneProcess:
    """A running worker. ``log`` holds its log, one line of JSON per call."""

    def __init__(self, configuration: str, folder: Path, local: str = EMPTY) -> None:
        self._clients: list[openai.OpenAI] = []
        file = folder / "antiphon.yaml"
        file.write_text(local + configuration)
        self.settings: Settings = load(file, {"HOME": str(folder)})
        self.log_path = folder / "worker.log"
        self.run_dir = tempfile.mkdtemp(prefix="ap-")
        listener = tcp_listener("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
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

    def client(self, key: str = "sk-test") -> openai.OpenAI:
        """The official client, which tries nothing twice; closed with the worker."""
        self._clients.append(openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=20))
        return self._clients[-1]

    def calls(self) -> list[dict[str, Any]]:
        """What the worker logged, complete once it has been stopped."""
        return [json.loads(line) for line in self.log_path.read_text().splitlines() if line.startswith("{")]

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        assert self.process.stdin is not None
        self.process.stdin.close()
        shutil.rmtree(self.run_dir, ignore_errors=True)


def provider(name: str, url: str, **more: Any) -> str:
    """One row of configuration."""
    row = {"name": name, "url": url, "models": ["mock-model"], **more}
    return msgspec.json.encode(row).decode()
