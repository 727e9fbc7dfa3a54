"""A coordinator alone: ``coordinator_program.py JOURNAL SOCKET LEASE``. Says "ready" on standard output."""

import asyncio
import sys
from pathlib import Path

from antiphon.core.clock import SystemClock
from antiphon.dispatch.coordinator.ledger.journal import Journal
from antiphon.dispatch.coordinator.server import CoordinatorServer
from antiphon.transport.listeners import unix_listener


async def main(journal: str, path: str, lease: float) -> None:
    server = CoordinatorServer(Journal(Path(journal)), SystemClock(), lease=lease)
    await server.listen(unix_listener(path))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
