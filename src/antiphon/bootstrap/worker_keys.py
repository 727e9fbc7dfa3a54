"""A worker's keys: rings of whatever snapshot is in force, without those that are revoked."""

import asyncio
import contextlib
import logging
from weakref import WeakSet

import msgspec

from antiphon.bootstrap.revocations import Revocations, revocations_file
from antiphon.bootstrap.snapshots.file import Snapshot
from antiphon.core.errors import SetupError
from antiphon.gateway.keys import KeyRing
from antiphon.transport.server import Handler, Request, Responder

EVERY = 0.25
"""Seconds between two looks at the file of revocations; a look costs microseconds."""

KEYS_PATH = "/keys"
"""Where a worker's private socket tells a ``KeyReport``."""

log = logging.getLogger(__name__)


class KeyReport(msgspec.Struct, frozen=True):
    """What a worker knows of its keys."""

    epoch: int
    snapshot: str
    """SHA-256 of the snapshot that new calls go by; empty where it came from no file."""
    keys: int
    revocations: str
    """The file that it follows."""
    position: int
    """How much of that file it obeys, bytes."""
    revoked: int


class WorkerKeys:
    """Follows the revocations for as long as a worker lives. Raises SetupError where they cannot be read at its start."""

    def __init__(self, data_dir: str) -> None:
        self._revocations = Revocations(revocations_file(data_dir))
        self._revocations.refresh()
        self._rings: WeakSet[KeyRing] = WeakSet()
        self._snapshot: Snapshot | None = None
        self._trouble = ""
        self._task: asyncio.Task[None] | None = None

    def ring(self, snapshot: Snapshot) -> KeyRing:
        """The keys of a snapshot; what is revoked later is taken from them too."""
        ring = KeyRing(snapshot.keys, self._revocations.digests)
        self._rings.add(ring)
        return ring

    def go_by(self, snapshot: Snapshot) -> None:
        """New calls go by this snapshot from now on."""
        self._snapshot = snapshot

    def follow(self) -> None:
        """Begin to look for revocations. Call it on the event loop."""
        self._task = asyncio.create_task(self._follow(), name="revocations")

    def look(self) -> None:
        """Obey what has been revoked since the last look."""
        try:
            changed = self._revocations.refresh()
        except SetupError as error:
            if self._trouble != error.message:
                self._trouble = error.message
                log.error("%s; what is known of them stays in force", error)
            return
        self._trouble = ""
        if changed:
            for ring in self._rings:
                ring.forget()

    def report(self) -> KeyReport:
        """What is in force now."""
        assert self._snapshot is not None
        known = self._revocations
        return KeyReport(
            self._snapshot.epoch,
            self._snapshot.sha256,
            len(self._snapshot.keys),
            str(known.path),
            known.position,
            len(known.digests),
        )

    def beside(self, handler: Handler) -> Handler:
        """A handler that answers ``/keys``, and leaves everything else to the one given."""
        encode = msgspec.json.Encoder().encode

        def handle(request: Request, responder: Responder) -> None:
            if request.path == KEYS_PATH:
                responder.send(200, ((b"content-type", b"application/json"),), encode(self.report()))
            else:
                handler(request, responder)

        return handle

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self.look()
