"""Where a server records its calls, and how long it keeps them."""

import asyncio
import contextlib
import logging
import time
from typing import Final

from antiphon.bootstrap.kept_audit import AuditedRecords, KeptAudit
from antiphon.config import Settings
from antiphon.config.settings import RecordSettings
from antiphon.core.errors import RecordsUnavailable
from antiphon.storage.records.store import SqlRecordStore

EVERY: Final = 3600.0
"""Seconds between two looks for calls that are to be forgotten."""

log = logging.getLogger(__name__)


def record_store(settings: Settings) -> SqlRecordStore:
    """The store that the settings name. It is not opened before it is used."""
    return AuditedRecords(settings).store


class KeptRecords:
    """The records of a server as long as it runs. Make it on the running loop, and close it."""

    def __init__(self, settings: Settings) -> None:
        records = AuditedRecords(settings)
        self.store = records.store
        self.trail = records.trail
        self.audit = KeptAudit(settings, records)
        self._keep = settings.records.keep_days * 86400
        self._task = asyncio.create_task(self._forget(), name="forget-records")

    def take(self, settings: RecordSettings) -> None:
        """Keep calls for another time from now on."""
        self._keep = settings.keep_days * 86400

    async def close(self) -> None:
        """Forget no more, end the audit trail, and close the database."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self.audit.close()
        await asyncio.to_thread(self.store.close)

    async def _forget(self) -> None:
        while True:
            if self._keep:
                try:
                    await asyncio.to_thread(self.store.forget, time.time() - self._keep)
                except RecordsUnavailable as error:
                    log.warning("%s", error)
            await asyncio.sleep(EVERY)
