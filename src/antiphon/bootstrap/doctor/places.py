"""The folders that a server writes to, and their disks."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.bootstrap.models import local_models
from antiphon.bootstrap.plan import plan
from antiphon.bootstrap.run_folders import PREFIX
from antiphon.core.errors import SetupError

LITTLE = 1 << 30
"""Bytes of free space below which a cache of model files is likely to fill its disk."""
TOO_LITTLE = 64 << 20
"""Bytes of free space below which nothing is sure to be written."""
_RANDOM_NAME = "x" * 8
"""As long as what ``tempfile`` puts behind a prefix."""


def folders(subject: Subject) -> Iterator[Finding]:
    """Run, cache and data folder."""
    settings = subject.settings
    yield from _folder("cache_dir", Path(settings.cache_dir), LITTLE, "set cache_dir (ANTIPHON_CACHE_DIR) to another disk")
    yield from _folder("data_dir", Path(settings.data_dir), TOO_LITTLE, "set data_dir (ANTIPHON_DATA_DIR) to another disk")
    try:
        temporary = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        yield Finding(
            "folders", "error", f"there is no folder for temporary files: {error}", "set TMPDIR to one that can be written"
        )
        return
    yield from _folder("run folders", temporary, TOO_LITTLE, "set TMPDIR to another disk")
    try:
        settings = msgspec.structs.replace(settings, models=local_models(settings))
        paths = {model.name: "somewhere" for model in settings.models}
        plan(settings, paths, str(temporary / f"{PREFIX}{_RANDOM_NAME}"))
    except SetupError as error:
        yield Finding("folders", "error", error.message, error.remedy)


def _folder(name: str, path: Path, wanted: int, elsewhere: str) -> Iterator[Finding]:
    present = path
    while not present.exists():
        present = present.parent
    if not present.is_dir():
        yield Finding("folders", "error", f"{name}: {present} is not a folder", f"move it away, or {elsewhere}")
        return
    if not os.access(present, os.W_OK | os.X_OK):
        what = f"{name}: {path} cannot be written by this user"
        yield Finding("folders", "error", what, f"give this user the right to write there, or {elsewhere}")
        return
    disk = os.statvfs(present)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_files and not disk.f_favail:
        yield Finding(
            "folders", "error", f"{name}: the disk of {path} takes no more files (inodes)", f"remove some, or {elsewhere}"
        )
    elif free < wanted:
        status = "error" if free < TOO_LITTLE else "warning"
        yield Finding("folders", status, f"{name}: {path} has {free >> 20} MiB free", f"free some, or {elsewhere}")  # type: ignore[arg-type]
    else:
        later = "" if present == path else ", will be made"
        yield Finding("folders", "ok", f"{name}: {path} can be written{later}, {free / (1 << 30):.1f} GiB free")
