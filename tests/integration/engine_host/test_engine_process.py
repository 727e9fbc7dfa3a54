"""The host as a process: as the supervisor's child, and as ``antiphon engine``."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from antiphon.bootstrap.process import ProcessSpec, encode_spec, socket_path
from antiphon.config import ServerSettings, Settings

HI = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}


class ChildProcess:
    """``python -m antiphon.bootstrap.engine`` with this test for a supervisor."""

    def __init__(self, model, path: str, run_dir: str, cache: Path) -> None:
        read, write = os.pipe()
        settings = Settings(server=ServerSettings(grace=5.0), models=(model,), cache_dir=str(cache))
        spec = ProcessSpec("engine", "engine-small", 1, run_dir, settings, write, model=model, model_path=path)
        command = [sys.executable, "-m", "antiphon.bootstrap.engine"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(write,))
        os.close(write)
        self.states = os.fdopen(read, "rb")
        self.process.stdin.write(encode_spec(spec))
        self.process.stdin.flush()
        self.http = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=socket_path(run_dir, "engine-small")), base_url="http://engine"
        )

    def until(self, state: str) -> dict:
        """The next word of the child in that state."""
        for line in self.states:
            told = json.loads(line)
            if told["state"] == state:
                return told
            assert told["state"] == "loading", told
        raise AssertionError(self.process.stderr.read().decode())

    def end(self) -> int:
        return self.process.wait(30)

    def close(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stderr.close()
        self.states.close()


@pytest.fixture
def start(model, engine_cache) -> Iterator:
    children = []
    with tempfile.TemporaryDirectory(prefix="eh-") as run_dir:

        def begin(path=None):
            children.append(ChildProcess(model, path or model.source.removeprefix("file:"), run_dir, engine_cache))
            return children[-1]

        yield begin
        for child in children:
            child.close()


def test_a_child_loads_answers_and_ends_on_sigterm(start):
    child = start()
    child.until("ready")
    assert child.http.get("/health").status_code == 200
    answer = child.http.post("/v1/chat/completions", json={"model": "small", **HI}, timeout=60)
    assert answer.json()["usage"]["completion_tokens"] <= 4
    child.process.send_signal(signal.SIGTERM)
    assert child.end() == 0


def test_a_child_ends_with_its_supervisor(start):
    child = start()
    child.until("loading")
    child.process.stdin.close()
    assert child.end() != 0


def test_a_model_that_cannot_be_loaded_is_told(start, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"nothing of the kind")
    child = start(str(broken))
    told = child.until("failed")
    assert str(broken) in told["message"]
    assert told["setup"]
    assert child.end() == 1


def test_the_command_serves_a_path_until_it_is_interrupted(model, engine_cache, tmp_path):
    path = model.source.removeprefix("file:")
    command = [sys.executable, "-m", "antiphon", "engine", path, "--port", "0", "--name", "mine", "--context", "512"]
    folders = {
        "ANTIPHON_CACHE_DIR": str(engine_cache),
        **dict.fromkeys(("ANTIPHON_DATA_DIR", "HOME", "XDG_CONFIG_HOME"), str(tmp_path)),
    }
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, **folders}, cwd=tmp_path, text=True, **pipes) as process:
        try:
            said, address = "", ""
            for line in process.stderr:
                said += line
                if found := re.search(r"mine is served at (\S+)", line):
                    address = found.group(1)
                    break
            assert address, said
            answer = httpx2.post(f"{address}/chat/completions", json={"model": "mine", **HI}, timeout=60)
            assert answer.status_code == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
