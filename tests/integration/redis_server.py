"""A Redis of a test's own: on a Unix socket in a fresh folder, ended by its process id."""

import subprocess
import time
from pathlib import Path


class RedisServer:
    def __init__(self, program: str, folder: Path):
        self._program = program
        self._folder = folder
        self.socket = str(folder / "redis.sock")
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                *(self._program, "--port", "0", "--unixsocket", self.socket, "--dir", str(self._folder)),
                *("--save", "", "--appendonly", "yes", "--appendfsync", "no"),
            ],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while not Path(self.socket).exists():
            assert time.monotonic() < deadline, "redis-server did not start"
            time.sleep(0.01)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)
        Path(self.socket).unlink(missing_ok=True)
