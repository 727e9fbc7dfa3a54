"""Whether others used the machine while something was measured."""

import os
import time
from pathlib import Path

from benchmarks.processes import TICK, cpu_time, tree


class Others:
    """Processor time of everything that this process did not start, since this was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy = _busy()
        self._own = cpu_time(tree(os.getpid()))

    def cores(self) -> float:
        """Cores that others kept busy on the mean. What has ended since counts as theirs."""
        own = cpu_time(tree(os.getpid())).since(self._own)
        return max(0.0, _busy() - self._busy - own) / (time.monotonic() - self._began)


def _busy() -> float:
    """Seconds that all cores have worked since the machine started: user, nice, system and both kinds of interrupts."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]]
    return (sum(fields) - fields[3] - fields[4]) * TICK
