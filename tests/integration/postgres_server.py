"""A PostgreSQL of a test's own: on a Unix socket in a fresh folder, ended by its process id."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

ACCOUNT = "postgres"
"""Of the service, which root must become: PostgreSQL does not run as root."""


def programs() -> Path | None:
    """The folder of the newest server that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    onpath = shutil.which("postgres")
    return Path(onpath).parent if onpath else None


class PostgresServer:
    def __init__(self, folder: Path, place: Path):
        self._place = place
        self._data = folder / "data"
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            os.chown(folder, pwd.getpwnam(ACCOUNT).pw_uid, -1)
        self._run(
            "initdb", "--pgdata", str(self._data), "--auth", "trust", "--username", "antiphon", "--encoding", "UTF8", "--no-sync"
        )
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://antiphon@/postgres?host={self.folder}"

    def start(self) -> None:
        options = ["-D", str(self._data), "-k", str(self.folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        self.process = subprocess.Popen(
            self._as_service("postgres", *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 30
        while subprocess.run(
            self._as_service("pg_isready", "-h", str(self.folder)), stdout=subprocess.DEVNULL, check=False
        ).returncode:
            assert time.monotonic() < deadline, "postgres did not start"
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)  # end without waiting for clients to leave
            self.process.wait(30)
            self.process = None

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(self._as_service(program, *arguments), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def _as_service(self, program: str, *arguments: str) -> list[str]:
        become = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups"] if os.getuid() == 0 else []
        return [*become, str(self._place / program), *arguments]
