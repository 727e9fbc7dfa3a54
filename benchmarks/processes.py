"""Starts, pins, watches and ends what a benchmark measures. Needs Linux's ``/proc``."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds, the grain of ``utime`` and ``stime``."""


class Trouble(Exception):
    """A benchmark cannot go on; the message is for whoever started it."""


class CpuTime(msgspec.Struct, frozen=True):
    """Processor time that processes have used, user and system, seconds."""

    exact: float
    """Of the threads that live, to the nanosecond (``schedstat``)."""
    ticks: float
    """Of all threads that ever lived, in steps of ``TICK`` (``utime`` and ``stime``)."""

    def since(self, earlier: "CpuTime") -> float:
        """Seconds used since an earlier reading: the exact figure, unless threads that have ended hide much of it."""
        exact, ticks = self.exact - earlier.exact, self.ticks - earlier.ticks
        return ticks if ticks > exact * 1.05 + 5 * TICK else exact


class Process:
    """A started program and everything that it starts. Its output goes to ``log``."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as output:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **(environment or {})},
                    start_new_session=True,
                )
            except OSError as error:
                raise Trouble(f"{name} cannot be started: {error}") from error

    def pids(self) -> frozenset[int]:
        """The process and its descendants, now."""
        return tree(self._process.pid)

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Poll until it is ready. Raises Trouble with the end of its log where it ends before, or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise Trouble(f"{self.name} ended with status {self._process.returncode}: {self.last_words()}")
            if time.monotonic() > deadline:
                raise Trouble(f"{self.name} was not ready within {seconds:g} s: {self.last_words()}")
            time.sleep(0.05)

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-600:].strip() or "(it said nothing)"

    def stop(self, grace: float = 5.0) -> None:
        """SIGTERM, and SIGKILL for what is left after the grace."""
        everything = self.pids()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        for pid in everything & running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


def running() -> frozenset[int]:
    """Ids of all processes."""
    return frozenset(int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def tree(root: int) -> frozenset[int]:
    """Ids of a process and of its descendants."""
    children: dict[int, list[int]] = {}
    for pid in running():
        with contextlib.suppress(OSError):
            children.setdefault(int(_stat(pid)[1]), []).append(pid)
    found, left = set(), [root]
    while left:
        pid = left.pop()
        found.add(pid)
        left += children.get(pid, [])
    return frozenset(found)


def cpu_time(pids: Iterable[int]) -> CpuTime:
    """Processor time of processes so far."""
    exact = ticks = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = _stat(pid)
            ticks += (int(fields[11]) + int(fields[12])) * TICK
            for thread in os.listdir(f"/proc/{pid}/task"):
                exact += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) / 1e9
    return CpuTime(exact, ticks)


def memory_mb(pids: Iterable[int]) -> float:
    """Proportional set size: memory of processes, what they share with others counted in part. MiB."""
    kib = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024


def stolen() -> tuple[int, int]:
    """Ticks that a hypervisor gave to others, and all ticks, since the machine started."""
    fields = [int(value) for value in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return fields[7], sum(fields)


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` behind the name, which may hold anything: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


@contextlib.contextmanager
def on_core(core: int) -> Iterator[None]:
    """What is started inside runs on this core only, and what that starts too."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def free_port() -> int:
    """A TCP port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
