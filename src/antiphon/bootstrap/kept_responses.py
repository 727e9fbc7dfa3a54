"""The store of responses of a worker, as its settings want it."""

from pathlib import Path
from typing import Final

from antiphon.config import Settings
from antiphon.core.response_store import ResponseBounds
from antiphon.storage.sqlite_responses import SqliteResponseStore

FILE: Final = "responses/responses.db"
"""In ``data_dir``; all workers of a machine share it."""


class KeptResponses:
    """Opens the store when it is first wanted, and keeps it over changes of settings. Make it on the running loop, and close it."""

    def __init__(self) -> None:
        self._store: SqliteResponseStore | None = None

    def store(self, settings: Settings) -> SqliteResponseStore | None:
        """The store, within the bounds that are set; None where nothing is to be kept."""
        wanted = settings.server.responses
        if not wanted.store:
            return None
        bounds = ResponseBounds(wanted.max_mb << 20, wanted.max_age_days * 86400.0, settings.server.max_body_mb << 20)
        if self._store is None:
            self._store = SqliteResponseStore(Path(settings.data_dir) / FILE, bounds=bounds)
        self._store.bounds = bounds
        return self._store

    def counts(self) -> dict[str, int]:
        """Responses by what became of them; empty where nothing is kept."""
        if self._store is None:
            return {}
        stats = self._store.stats()
        return {"kept": stats.kept, "evicted": stats.evictions, "failed": stats.errors}

    async def close(self) -> None:
        """Write what waits."""
        if self._store is not None:
            await self._store.close()
