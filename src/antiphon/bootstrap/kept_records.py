"""Where a server records its calls, and how long it keeps them."""

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import Final

from antiphon.config import Settings
from antiphon.config.settings import RecordSettings
from antiphon.core.errors import RecordsUnavailable
from antiphon.storage.records.database import connect, file_url, server_url
from antiphon.storage.records.store import SqlRecordStore

EVERY: Final = 3600.0
"""Seconds between two looks for calls that are to be forgotten."""

log = logging.getLogger(__name__)


def record_store(settings: Settings) -> SqlRecordStore:
    """The store that the settings name. It is not opened before it is used."""
    url = settings.records.url.reveal()
    return SqlRecordStore(connect(server_url(url) if url else file_url(Path(settings.data_dir) / "records" / "calls.db")))


class KeptRecords:
    """The records of a server as long as it runs. Make it on the running loop, and close it."""

    def __init__(self, settings: Settings) -> None:
        self.store = record_store(settings)
        self._keep = settings.records.keep_days * 86400
        self._task = asyncio.create_task(self._forget(), name="forget-records")

    def take(self, settings: RecordSettings) -> None:
        """Keep calls for another time from now on."""
        self._keep = settings.keep_days * 86400

    async def close(self) -> None:
        """Forget no more, and close the database."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await asyncio.to_thread(self.store.close)

    async def _forget(self) -> None:
        while True:
            if self._keep:
                try:
                    await asyncio.to_thread(self.store.forget, time.time() - self._keep)
                except RecordsUnavailable as error:
                    log.warning("%s", error)
            await asyncio.sleep(EVERY)
