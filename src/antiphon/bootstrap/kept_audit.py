"""The audit trail of a server: where it lies, what is done to it from time to time, and how commands write to it."""

import asyncio
import contextlib
import logging
import os
import pwd
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from antiphon import __version__
from antiphon.bootstrap.owned_files import Owner
from antiphon.config import Settings
from antiphon.core.audit import Act
from antiphon.core.errors import AntiphonError, SetupError
from antiphon.storage.audit.files import AuditFiles, AuditPlaces
from antiphon.storage.records.audit_trail import SqlAuditTrail
from antiphon.storage.records.audit_writer import AuditWriter
from antiphon.storage.records.database import connect, file_url, server_url
from antiphon.storage.records.store import SqlRecordStore

TURN: Final = 1.0
"""Seconds between two looks at whether something is due."""
CUT_EVERY: Final = 3600.0
"""Seconds between two looks for records whose time is over."""
QUIET: Final = 60.0
"""Seconds between two lines in the log of what goes wrong."""
MAX_ACTS: Final = 1000
"""Acts that wait for a database that is away."""

log = logging.getLogger(__name__)


def records_file(settings: Settings) -> Path | None:
    """The SQLite file of the records; None where they lie in PostgreSQL."""
    return None if settings.records.url.reveal() else Path(settings.data_dir) / "records" / "calls.db"


def audit_places(settings: Settings) -> AuditPlaces:
    """Where the files of the audit trail lie."""
    folder, given = Path(settings.data_dir) / "audit", settings.audit
    return AuditPlaces(
        chain=folder / "chain",
        key=Path(given.key_file or folder / "signing-key.pem"),
        checkpoints=Path(given.checkpoints or folder / "checkpoints.jsonl"),
    )


def account() -> str:
    """The account of the operating system that runs this."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


class AuditedRecords:
    """The records of the settings with their audit trail. Nothing is opened before it is used."""

    def __init__(self, settings: Settings, files: AuditFiles | None = None) -> None:
        file = records_file(settings)
        engine = connect(server_url(settings.records.url.reveal()) if file is None else file_url(file))
        self.files = files or AuditFiles(audit_places(settings))
        self.writer = AuditWriter(self.files)
        self.store = SqlRecordStore(engine, self.writer if settings.audit.enabled else None)
        self.trail = SqlAuditTrail(self.store.database, self.files, self.writer)


@contextmanager
def opened(settings: Settings, *, to_write: bool = False) -> Iterator[AuditedRecords]:
    """The audit trail for a command. What it writes belongs to whom the server's data belong to.

    Raises SetupError where the server could not read what this user writes. Who only reads mends nothing, and begins nothing anew.
    """
    owner, places, file = Owner.of(Path(settings.data_dir)), audit_places(settings), records_file(settings)
    if to_write:
        for path in (places.chain, places.key, places.checkpoints, *([file] if file else ())):
            owner.check(path)
    chain = "" if to_write else AuditFiles(places).known_chain()
    if file is not None and chain and not file.exists():
        remedy = "restore a backup of it; the checkpoints tell how far it went"
        raise SetupError(f"{file} is not there, in which the chain {chain} was kept", remedy=remedy)
    if file is not None and not file.exists():
        os.close(owner.open(file, os.O_RDWR | os.O_CREAT))
    records = AuditedRecords(settings, AuditFiles(places, owner.open))
    records.store.database.mends = to_write
    try:
        yield records
    finally:
        records.store.close()


def record_act(settings: Settings, act: Act) -> None:
    """Write down what a command did, where an audit trail is kept. Raises AntiphonError where it cannot be."""
    if not settings.audit.enabled:
        return
    try:
        with opened(settings, to_write=True) as records:
            records.trail.record(msgspec.structs.replace(act, actor=account()))
    except OSError as error:
        raise SetupError(f"the audit trail cannot be written: {error.strerror}", remedy="mend the rights of data_dir") from error


class KeptAudit:
    """Seals and cuts the audit trail of a server as long as it runs. Make it on the running loop, and close it."""

    def __init__(self, settings: Settings, records: AuditedRecords, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings.audit
        self._records = records
        self._monotonic = monotonic
        self._acts: deque[Act] = deque(maxlen=MAX_ACTS)
        self._seal_at = self._cut_at = monotonic()
        self._quiet_until = 0.0
        self._trying = threading.Lock()
        self._task = asyncio.create_task(self._keep(), name="keep-audit") if settings.audit.enabled else None

    def note(self, kind: str, epoch: int) -> None:
        """Have an act of this server written down."""
        self._acts.append(Act(kind, {"version": __version__, "epoch": epoch}, account()))

    async def close(self) -> None:
        """Write down what waits, and sign how far the chain has come."""
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await asyncio.to_thread(self._try, self._write_acts, self._seal)

    async def _keep(self) -> None:
        while True:
            due = [self._write_acts] if self._acts else []
            now, unsealed = self._monotonic(), self._records.writer.unsealed
            if unsealed >= self._settings.checkpoint_records or (unsealed and now >= self._seal_at):
                self._seal_at = now + self._settings.checkpoint_seconds
                due.append(self._seal)
            if self._settings.keep_days and now >= self._cut_at:
                self._cut_at = now + CUT_EVERY
                due.append(self._cut)
            if due:
                await asyncio.to_thread(self._try, *due)
            await asyncio.sleep(TURN)

    def _try(self, *steps: Callable[[], None]) -> None:
        """Do what is due; what fails is tried again when it is due next."""
        with self._trying:  # at the end of the server a thread may still be at it
            for step in steps:
                try:
                    step()
                except (AntiphonError, OSError) as error:
                    if self._monotonic() >= self._quiet_until:
                        self._quiet_until = self._monotonic() + QUIET
                        log.error("the audit trail is not kept as it should be: %s", error)

    def _write_acts(self) -> None:
        while self._acts:
            self._records.trail.record(self._acts[0])
            self._acts.popleft()

    def _seal(self) -> None:
        self._records.trail.seal()

    def _cut(self) -> None:
        if count := self._records.trail.cut(time.time() - self._settings.keep_days * 86400):
            log.info("%d records of the audit trail were deleted: their time is over", count)
