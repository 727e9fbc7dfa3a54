"""How much memory and how many cores this process may still take."""

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CGROUPS = Path("/sys/fs/cgroup")


def own_cgroup(membership: Path = Path("/proc/self/cgroup"), root: Path = _CGROUPS) -> Path:
    """Folder of this process's control group (cgroup v2)."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return root
    names = (line.removeprefix("0::").lstrip("/") for line in lines if line.startswith("0::"))
    return root / next(names, "")


def available_memory(meminfo: Path = _MEMINFO, cgroup: Path | None = None) -> int | None:
    """Bytes that can be taken without swapping, by the machine and by the container (cgroup v2); None where neither tells."""
    found = [value for value in (_machine(meminfo), _container(cgroup or own_cgroup())) if value is not None]
    return min(found) if found else None


def _machine(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _container(cgroup: Path) -> int | None:
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = int((cgroup / "memory.current").read_text())
        stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    if limit == "max":
        return None
    return max(0, int(limit) - used + int(stat.get("inactive_file", 0)))


def usable_cores(cgroup: Path | None = None) -> int:
    """Cores that this process may use: its affinity, and the container's quota (cgroup v2), rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = ((cgroup or own_cgroup()) / "cpu.max").read_text().split()
        return cores if quota == "max" else max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        return cores


def thread_count(asked: int, cores: int) -> int:
    """Inference threads: as asked, or with 0 all cores, less one where there are more than two."""
    if asked > 0:
        return asked
    return cores - 1 if cores > 2 else max(1, cores)
