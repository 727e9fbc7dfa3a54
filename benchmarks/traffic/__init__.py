"""The load generator and the mock upstream: builds them from their C source, and runs them."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.processes import Process, Trouble

SOURCES = Path(__file__).parent
FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")


class Spread(msgspec.Struct, frozen=True):
    """Times of one kind, microseconds."""

    p50: int
    p99: int
    most: int


class Outcome(msgspec.Struct, frozen=True):
    """What became of one load; see ``load.c``."""

    requests: int
    good: int
    failed: int
    unfinished: int
    """Not done when the time was up."""
    seconds: float
    events: int
    """Server-sent events in good answers, ``[DONE]`` among them."""
    tokens: int
    """Completion tokens, as streams with usage told them."""
    connects: int
    latency: Spread
    first_text: Spread
    """From a request's start to its first event."""
    delay: Spread
    """From when the mock wrote an event to when it was read here."""
    first_error: str

    @property
    def bad(self) -> int:
        """Calls without a good answer."""
        return self.failed + self.unfinished


class Load(msgspec.Struct, frozen=True):
    """One load on one endpoint; see ``load.c``."""

    port: int
    body: Path
    connections: int
    requests: int
    path: str = "/v1/chat/completions"
    headers: tuple[str, ...] = ()
    stream: bool = False
    events: int = -1
    """Events with text that each stream must have; -1: any number."""
    rate: float = 0.0
    """Calls a second, 0: as fast as they are answered."""
    ramp_ms: int = 0
    limit: float = 60.0
    """Seconds after which it ends in any case."""

    def arguments(self) -> list[str]:
        """As the program wants them."""
        named = {
            "port": self.port,
            "body": self.body,
            "path": self.path,
            "connections": self.connections,
            "requests": self.requests,
            "events": self.events,
            "rate": self.rate,
            "ramp": self.ramp_ms,
            "limit": self.limit,
        }
        headers = [part for header in self.headers for part in ("--header", header)]
        return [
            *(part for name, value in named.items() for part in (f"--{name}", str(value))),
            *headers,
            *["--stream"][: self.stream],
        ]


def run_load(load: Load) -> Outcome:
    """Run it to its end."""
    command = [build("load"), *load.arguments()]
    done = subprocess.run(command, capture_output=True, check=False, timeout=load.limit + 30)
    if done.returncode:
        raise Trouble(f"the load generator failed: {done.stderr.decode(errors='replace').strip()}")
    return msgspec.json.decode(done.stdout, type=Outcome)


class Upstream(Process):
    """The mock upstream, listening on ``port``."""

    def __init__(self, folder: Path) -> None:
        super().__init__("mock upstream", [build("upstream"), "0"], folder / "upstream.log")
        self.wait_until(lambda: self.log.read_bytes().endswith(b"\n"), 10)
        self.port = int(self.log.read_text())


def build(name: str) -> str:
    """Path of a program, compiled from its C source unless it was before."""
    source = SOURCES / f"{name}.c"
    digest = hashlib.sha256(b"\0".join([source.read_bytes(), (SOURCES / "wire.h").read_bytes(), *map(str.encode, FLAGS)]))
    program = _cache() / f"{name}-{digest.hexdigest()[:16]}"
    if not program.exists():
        _compile(source, program)
    return str(program)


def _compile(source: Path, program: Path) -> None:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise Trouble(
            "the benchmark's load generator and mock upstream are C and no compiler is here;"
            " install one (on Debian and Ubuntu: apt install gcc libc6-dev), or name it: CC=..."
        )
    print(f"compiling {source.name}", file=sys.stderr)
    fresh = program.with_suffix(f".{os.getpid()}")
    _run_compiler([compiler, *FLAGS, "-o", str(fresh), str(source)])
    fresh.replace(program)


def _run_compiler(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise Trouble(f"the compiler cannot be run: {error}") from error
    if done.returncode:
        raise Trouble(f"{' '.join(command)} failed:\n{done.stderr.decode(errors='replace')}")


def _cache() -> Path:
    """A folder of this user's alone, since what is in it is run."""
    folder = Path(tempfile.gettempdir(), f"antiphon-benchmarks-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise Trouble(f"{folder} belongs to somebody else; remove it or set TMPDIR")
    return folder
