"""Writes the snapshots of a server, and names them to its workers."""

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from antiphon.bootstrap import ballast
from antiphon.bootstrap.plan import PlannedProcess
from antiphon.bootstrap.revocations import Revocations, revocations_file
from antiphon.bootstrap.snapshots.file import Snapshot, SnapshotSource, read, write
from antiphon.bootstrap.snapshots.folder import SnapshotFolder
from antiphon.config import Settings
from antiphon.core.errors import SetupError

MAX_NAMES = 10
"""Names of revoked keys that a warning tells."""

log = logging.getLogger(__name__)


class Publisher:
    """One a server. Blocks: a snapshot of 100,000 keys takes part of a second. Raises SetupError or NoSpace."""

    def __init__(self, settings: Settings) -> None:
        self._folder = SnapshotFolder(settings.data_dir)
        self._fresh: SnapshotFolder | None = None
        self._published: tuple[SnapshotSource, ...] = ()
        self._known: dict[str, Snapshot] = {}
        """What the files that may still be named hold, by their paths."""
        self.first_epoch = self._folder.next_epoch
        """Greater than that of any server before it that had this folder."""

    def publish(self, planned: Sequence[PlannedProcess], settings: Settings, epoch: int) -> tuple[PlannedProcess, ...]:
        """Write a snapshot; gives back the plan with it named to the workers. Nothing that was published before is touched.

        Raises ConfigError where the file of keys cannot be used, SetupError or NoSpace where the snapshot cannot be written.
        """
        snapshot = Snapshot.of(settings, epoch)
        self._leave_fresh()
        if settings.data_dir != self._folder.data_dir:
            self._fresh = SnapshotFolder(settings.data_dir)
        sources = (self._fresh or self._folder).publish(snapshot)
        ballast.fill(revocations_file(settings.data_dir))
        _warn_of_revoked(snapshot)
        self._published = sources
        self._known = {path: known for path, known in self._known.items() if path in {source.path for source in sources[1:]}}
        self._known[sources[0].path] = snapshot
        return tuple(
            msgspec.structs.replace(process, sources=sources) if process.role == "worker" else process for process in planned
        )

    def mend(self, process: PlannedProcess) -> None:
        """Write the snapshot that a process is about to go by once more, if its file is missing or damaged.

        Where that cannot be done the process goes by the last good one, and the log says so.
        """
        if not process.sources or (snapshot := self._known.get(process.sources[0].path)) is None:
            return
        source = process.sources[0]
        try:
            read(source)
        except SetupError as damage:
            log.warning("%s; it is written again", damage.message)
            try:
                write(Path(source.path).parent, snapshot)
            except SetupError as failure:
                log.error("%s", failure)

    def accept(self) -> None:
        """What was published last is in force: what is older than the one before it goes."""
        if self._fresh is not None:
            self._folder.close()
            self._folder, self._fresh = self._fresh, None
        self._folder.accept(self._published)

    def close(self) -> None:
        """Leave the folder to the next server."""
        self._leave_fresh()
        self._folder.close()

    def _leave_fresh(self) -> None:
        if self._fresh is not None:
            self._fresh.close()
            self._fresh = None


def _warn_of_revoked(snapshot: Snapshot) -> None:
    revocations = Revocations(revocations_file(snapshot.settings.data_dir))
    revocations.refresh()
    if not revocations.digests:
        return
    names = [owner for digest, owner in snapshot.keys if digest in revocations.digests]
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        log.warning(
            "keys that are configured stay revoked: %s%s; take them out of the configuration, or run "
            '"antiphon keys restore NAME"', ", ".join(names[:MAX_NAMES]), more,
        )  # fmt: skip
