"""A real ``antiphon serve`` in front of the mock upstream, and a look at its worker."""

import http.client
import json
import os
import resource
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.gateway.peers import KEY, MODEL, READY, Site, antiphon
from benchmarks.processes import Process, Trouble, free_port
from benchmarks.traffic import Load, Outcome, Upstream, run_load

AUTHORIZATION = f"authorization: Bearer {KEY}"
WORKER = b"antiphon.bootstrap.worker"
FILES = 12_000
"""Files that this process and the worker may have open."""


class Gateway:
    """``with Gateway(folder) as gateway``: one worker, no local models, one provider."""

    def __init__(self, folder: Path) -> None:
        _allow_files()
        self._folder = folder
        self._upstream = Upstream(folder)
        site = Site(free_port(), self._upstream.port, folder)
        launch = antiphon("", site)
        self.port = site.port
        try:
            self._process = Process("antiphon", launch.command, folder / "antiphon.log", launch.environment)
        except Trouble:
            self._upstream.stop()
            raise
        self._worker = 0

    def __enter__(self) -> Self:
        try:
            self._process.wait_until(self._answers, READY)
            self._worker = next(pid for pid in sorted(self._process.pids()) if WORKER in _command(pid))
        except (Trouble, StopIteration):
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.stop()
        self._upstream.stop()

    def load(self, streams: int, connections: int, events: int, pace_ms: int = 0, ramp_ms: int = 0) -> Outcome:
        """So many streamed calls, each read to its end and counted."""
        body = self._folder / f"{events}-{pace_ms}.json"
        body.write_bytes(request(events, pace_ms))
        return run_load(
            Load(
                self.port,
                body,
                connections,
                streams,
                headers=(AUTHORIZATION,),
                stream=True,
                events=events,
                ramp_ms=ramp_ms,
                limit=600,
            )
        )

    def resident(self) -> int:
        """Bytes of the worker's memory that are resident."""
        pages = int(Path(f"/proc/{self._worker}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def waited(self) -> float:
        """Seconds for which the worker's threads were ready to run and had no core, since it started."""
        threads = Path(f"/proc/{self._worker}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[1]) for thread in threads) / 1e9

    def settle(self) -> int:
        """``resident`` once it has stood still for a second, after half a minute at the latest."""
        last, still = self.resident(), time.monotonic()
        deadline = still + 30
        while time.monotonic() < min(still + 1, deadline):
            time.sleep(0.1)
            if (now := self.resident()) != last:
                last, still = now, time.monotonic()
        return last

    def _answers(self) -> bool:
        try:
            return self.load(1, 1, 2).good == 1
        except OSError:
            return False


def request(events: int, pace_ms: int) -> bytes:
    """Body of a call whose answer has so many events with text, so many milliseconds apart."""
    content = f"[events={events} pace={pace_ms}] Tell me more."
    return json.dumps({"model": MODEL, "stream": True, "messages": [{"role": "user", "content": content}]}).encode()


def health(connection: http.client.HTTPConnection) -> float:
    """Seconds that /health takes. Raises Trouble where it does not answer 200."""
    begun = time.perf_counter()
    connection.request("GET", "/health")
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise Trouble(f"/health answered {answer.status}")
    return time.perf_counter() - begun


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _allow_files() -> None:
    """As many open files as the parts need, here and in what is started from here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < FILES:
        sys.stderr.write(f"only {wanted} files may be open here; raise the hard limit for all idle connections (ulimit -Hn)\n")
