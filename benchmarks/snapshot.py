"""``python -m benchmarks snapshot``: what many keys and models cost in time and memory, and how soon a key is revoked."""

import argparse
import hashlib
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml

from antiphon.bootstrap.run_folders import run_folders
from antiphon.bootstrap.snapshots.file import Snapshot, SnapshotSource, read, write
from antiphon.config import Settings, load
from antiphon.core.types import Principal
from antiphon.gateway.key_table import KeyIndex, KeyTable, digest_of, owner_text
from antiphon.gateway.keys import KeyRing
from benchmarks.processes import Process, Trouble, free_port, memory_mb

BUILT, LOADED, REVOKED = 5.0, 1.0, 2.0
"""Promises, seconds."""

PROVIDERS = 50
WORKERS = 4
CONNECTIONS = 32
"""Kept open while a key is revoked: enough that each worker has some of them."""
READY = 120.0


def key(number: int) -> str:
    """The key of a caller."""
    return f"ap-benchmark-{number}"


def configuration(folder: Path, keys: int, models: int, port: int) -> Path:
    """Write a configuration with so many keys and models; gives back its file."""
    lines = (f"caller-{number:06} sha256:{digest_of(key(number).encode()).hex()}\n" for number in range(keys))
    (folder / "keys").write_text("".join(lines))
    each = models // PROVIDERS
    providers = [
        {
            "name": f"provider-{row}",
            "url": "http://127.0.0.1:9/v1",
            "key": "${PROVIDER_KEY}",
            "models": [{"name": f"model-{row}-{n}", "upstream": f"upstream/model-{row}-{n}"} for n in range(each)],
        }
        for row in range(PROVIDERS)
    ]
    rows = {
        "server": {"port": port, "grace": 1, "log_calls": False, "workers": WORKERS, "keys_file": "keys"},
        "models": [],
        "embeddings": {"enabled": False},
        "providers": providers,
        "data_dir": "data",
        "cache_dir": "cache",
    }
    file = folder / "antiphon.yaml"
    file.write_text(yaml.safe_dump(rows))
    return file


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """What it gives, and the median of its seconds."""
    taken = []
    result = None
    for _ in range(repeats):
        before = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - before)
    return result, statistics.median(taken)


def files(folder: Path, keys: int, models: int, repeats: int) -> tuple[float, float]:
    """Print what the file costs; gives back the seconds to build and to load it."""
    file = configuration(folder, keys, models, free_port())
    settings, reading = timed(lambda: load(file, {**os.environ, "PROVIDER_KEY": "sk-benchmark"}), 1)
    assert isinstance(settings, Settings)
    snapshot, making = timed(lambda: Snapshot.of(settings, 1), repeats)
    _, splitting = timed(lambda: sorted(line.split() for line in (folder / "keys").read_bytes().splitlines()), repeats)
    source, writing = timed(lambda: write(folder, snapshot), repeats)
    assert isinstance(source, SnapshotSource)
    held, loading = timed(lambda: read(source), repeats)
    data = Path(source.path).read_bytes()
    _, decoding = timed(lambda: msgspec.msgpack.decode(memoryview(data)[52:]), repeats)
    _, hashing = timed(lambda: hashlib.sha256(data).digest(), repeats)
    assert len(held.keys) == keys
    print(f"read and check the configuration  {reading * 1e3:9.1f} ms, {keys:,} keys, {models:,} models (Python's YAML)")
    print(f"build: keys read, checked, sorted {making * 1e3:9.1f} ms, {making / splitting:.2f} x lines split and sorted")
    print(f"build: encoded, written, synced   {writing * 1e3:9.1f} ms, {len(data) / 1e6:.2f} MB")
    print(
        f"load: read, checked, decoded      {loading * 1e3:9.1f} ms, {loading / (decoding + hashing):.2f} x bare decode and SHA-256"
    )
    return making + writing, loading


def lookups(keys: int, repeats: int) -> None:
    """Print what recognising a key costs, known and new."""
    rows = [(digest_of(key(number).encode()), owner_text(Principal(f"caller-{number:06}"))) for number in range(keys)]
    table = KeyTable.of(rows)
    bare = dict(rows)
    ring = KeyRing(table)
    headers = [f"Bearer {key(number * 7919 % keys)}".encode() for number in range(10_000)]
    digests = [digest_of(header[7:]) for header in headers]

    def new() -> None:
        ring.forget()
        for header in headers:
            ring.principal(header)

    def each(work: Callable[[], object]) -> float:
        return timed(work, repeats)[1] / len(headers) * 1e9

    first = each(new)
    again = each(lambda: [ring.principal(header) for header in headers])
    index = KeyIndex(table)
    found = each(lambda: [index.owner(digest) for digest in digests])
    dictionary = each(lambda: [bare.get(digest) for digest in digests])
    print(f"a key that is seen again          {again:9.0f} ns")
    print(f"a key that is new                 {first:9.0f} ns, of them {found:.0f} to find it; a dictionary takes {dictionary:.0f}")


@contextmanager
def serving(folder: Path, file: Path) -> Iterator[Process]:
    """A running ``antiphon serve``."""
    environment = {"PROVIDER_KEY": "sk-benchmark", "TMPDIR": str(folder)}
    process = Process("antiphon", [sys.executable, "-m", "antiphon", "serve", "--config", str(file)], folder / "log", environment)
    try:
        process.wait_until(lambda: "/v1" in (folder / "log").read_text(errors="replace"), READY)
        yield process
    finally:
        process.stop()


def worker_memory(folder: Path) -> list[float]:
    """PSS of each worker, MiB."""
    tempfile.tempdir = str(folder)
    states = [found.state for found in run_folders() if found.alive and found.state is not None]
    tempfile.tempdir = None
    return [memory_mb([row.pid]) for row in states[0].processes if row.role == "worker"]


def memory(keys: int, models: int) -> list[float]:
    """Median PSS of a worker with so many keys and models."""
    with tempfile.TemporaryDirectory(prefix="ap-") as name:
        folder, port = Path(name), free_port()
        with serving(folder, configuration(folder, keys, models, port)):
            time.sleep(1.0)
            return worker_memory(folder)


def revocations(keys: int, models: int, repeats: int) -> tuple[list[float], list[float], list[float]]:
    """For several keys, seconds until no worker takes it any more, and as the command tells; and PSS of each worker, MiB."""
    with tempfile.TemporaryDirectory(prefix="ap-") as name:
        folder, port = Path(name), free_port()
        file = configuration(folder, keys, models, port)
        with serving(folder, file):
            time.sleep(1.0)
            used = worker_memory(folder)
            taken = [_revoked(folder, file, port, number) for number in range(1, repeats + 1)]
    return [seen for seen, _ in taken], [told for _, told in taken], used


def _revoked(folder: Path, file: Path, port: int, number: int) -> tuple[float, float]:
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(CONNECTIONS)]
    if any(_status(connection, number) != 200 for connection in connections):
        raise Trouble("a key is not taken before it is revoked")
    command = [sys.executable, "-m", "antiphon", "keys", "revoke", f"caller-{number:06}", "--config", str(file), "--json"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    log = folder / "revocations"
    length = log.stat().st_size if (log := folder / "data" / "keys" / "revocations.jsonl").exists() else 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        while not log.exists() or log.stat().st_size == length:
            time.sleep(0.001)
            if process.poll() not in (None, 0):
                raise Trouble("antiphon keys revoke failed")
        began = time.perf_counter()
        while any([_status(connection, number) == 200 for connection in connections]):  # noqa: C419 - ask all of them
            time.sleep(0.005)
        seen = time.perf_counter() - began
        told = msgspec.json.decode(process.communicate()[0])["seconds"]
    for connection in connections:
        connection.close()
    return seen, told


def _status(connection: http.client.HTTPConnection, number: int) -> int:
    connection.request("GET", "/v1/models/model-0-0", headers={"authorization": f"Bearer {key(number)}"})
    response = connection.getresponse()
    response.read()
    return response.status


def _middle(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} (up to {max(values):.2f})"


def run(keys: int, models: int, repeats: int) -> int:
    """Print the figures. Returns 1 where a promise is not kept."""
    with tempfile.TemporaryDirectory(prefix="ap-") as folder:
        built, loaded = files(Path(folder), keys, models, repeats)
    lookups(keys, repeats)
    few = memory(1, models)
    seen, told, many = revocations(keys, models, repeats)
    print(f"PSS of each of {WORKERS} workers, MiB      {_middle(few)} with 1 key, {_middle(many)} with {keys:,}")
    print(
        f"revoked at all {WORKERS} workers, s        {_middle(seen)} as {CONNECTIONS} connections see it, {_middle(told)} as told"
    )
    kept = built < BUILT and loaded < LOADED and max(seen) < REVOKED
    print(
        f"promises: built < {BUILT:g} s: {built:.2f}; loaded < {LOADED:g} s: {loaded:.3f}; "
        f"revoked < {REVOKED:g} s: {max(seen):.2f}; {'kept' if kept else 'NOT KEPT'}"
    )
    return 0 if kept else 1


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks snapshot", description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(arguments)
    return run(options.keys, options.models, options.repeats)
