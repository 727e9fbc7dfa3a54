"""A running supervisor, seen from outside."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from antiphon.bootstrap.process import socket_path
from antiphon.bootstrap.state import read_state
from antiphon.core.errors import InternalError
from antiphon.core.processes import ProcessState, ServerState

PROGRAM = str(Path(__file__).with_name("serve_program.py"))
PATIENCE = 30.0

T = TypeVar("T")


def eventually(condition: Callable[[], T | None], seconds: float = PATIENCE) -> T:
    """The first true value of a condition that becomes true within some seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return value


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Server:
    def __init__(self, folder: Path) -> None:
        self.tmp = folder / "t"
        self.tmp.mkdir()
        self.script = folder / "script.json"
        self.errors = folder / "stderr.txt"
        self.notices: list[dict[str, str]] = []
        self.process: subprocess.Popen[bytes] | None = None
        self._settings: dict[str, Any] = {
            "server": {"port": 0, "grace": 5.0},
            "models": [],
            "embeddings": {"enabled": False},
            "data_dir": str(folder / "data"),
        }

    def write(self, *, behaviour: dict[str, str] | None = None, timings: dict[str, Any] | None = None, **settings: Any) -> None:
        """What the server shall be like. ``server`` is merged into the defaults of these tests."""
        merged = {**self._settings, **settings, "server": {**self._settings["server"], **settings.get("server", {})}}
        self._settings = merged
        fresh = self.script.with_suffix(".new")
        fresh.write_text(json.dumps({"settings": merged, "behaviour": behaviour or {}, "timings": timings or {"ping_every": 0}}))
        fresh.replace(self.script)

    def start(self, terminal: str = "") -> None:
        """Start it, in a session of its own whose controlling terminal is ``terminal``."""
        if not self.script.exists():
            self.write()
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, PROGRAM, str(self.script), *([terminal] if terminal else [])],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(self.tmp)},
                start_new_session=True,
            )
        self._listener = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self._listener.start()

    def serving(self) -> None:
        self.start()
        self.notice("serving")

    def notice(self, kind: str, process: str = "", since: int = 0) -> dict[str, str]:
        """Wait for a notice."""
        assert self.process

        def seen() -> dict[str, str] | None:
            found = [n for n in self.notices[since:] if n["kind"] == kind and (not process or n["process"] == process)]
            assert found or self._listener.is_alive(), self.errors.read_text()
            return found[0] if found else None

        return eventually(seen)

    def signal(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)

    def reload(self, outcome: str) -> dict[str, str]:
        since = len(self.notices)
        self.signal(signal.SIGHUP)
        return self.notice(outcome, since=since)

    def ended(self, seconds: float = PATIENCE) -> int:
        assert self.process
        return self.process.wait(seconds)

    @property
    def run_dir(self) -> str:
        return str(next(self.tmp.glob("antiphon-*")))

    @property
    def state(self) -> ServerState:
        return eventually(self._state)

    def _state(self) -> ServerState | None:
        try:
            return read_state(self.run_dir)
        except (InternalError, StopIteration):
            return None

    def named(self, name: str) -> ProcessState:
        return next(process for process in self.state.processes if process.name == name)

    def pids(self) -> list[int]:
        return [process.pid for process in self.state.processes if process.pid]

    def get(self, path: str = "/") -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.state.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())

    def get_from(self, name: str) -> dict[str, Any]:
        """What a process says of itself over its Unix socket."""
        connection = http.client.HTTPConnection(name, timeout=PATIENCE)
        with contextlib.closing(connection), socket.socket(socket.AF_UNIX) as connection.sock:
            connection.sock.connect(socket_path(self.run_dir, name))
            connection.request("GET", "/")
            return json.loads(connection.getresponse().read())

    def in_background(self, path: str) -> "Answer":
        """A request that a worker has begun to work on."""
        answer = Answer(lambda: self.get(path))
        eventually(Path(self.run_dir, f"asked-for-{path.lstrip('/')}").exists)
        return answer

    def in_background_at(self, name: str, seconds: int) -> "Answer":
        """A request that takes so long, at the worker of this name."""
        for number in range(100):
            path = f"{seconds}.{number:03}"
            answer = self.in_background(f"/{path}")
            if Path(self.run_dir, f"asked-for-{path}").read_text() == name:
                return answer
        raise AssertionError(f"{name} gets no connection")

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self._listener.join()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        with process.stdout:
            for line in process.stdout:
                self.notices.append({"process": "", "text": "", **json.loads(line)})


class Answer:
    """A request that is under way."""

    def __init__(self, work: Callable[[], dict[str, Any]]) -> None:
        self.value: dict[str, Any] | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def result(self) -> dict[str, Any]:
        self._thread.join(PATIENCE)
        if self.error:
            raise self.error
        assert self.value is not None, "no answer in time"
        return self.value

    def _run(self, work: Callable[[], dict[str, Any]]) -> None:
        try:
            self.value = work()
        except Exception as error:
            self.error = error
