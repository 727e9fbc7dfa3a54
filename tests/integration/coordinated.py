"""A coordinator and those that talk to it, each a process of its own, started and ended by a test."""

import subprocess
import sys
from pathlib import Path

COORDINATOR = Path(__file__).with_name("coordinator_program.py")


class Coordinated:
    """``lease`` is in seconds. The first coordinator runs once this is made."""

    def __init__(self, folder: Path, lease: float):
        self.folder = folder
        self.socket = str(folder / "shared")
        self.processes: list[subprocess.Popen[bytes]] = []
        self._lease = lease
        self.coordinator = self.start_coordinator()

    def start_coordinator(self) -> subprocess.Popen[bytes]:
        process = self.start(COORDINATOR, str(self.folder / "journal"), self.socket, str(self._lease))
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    def start(self, program: Path, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, program, *arguments], stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()
