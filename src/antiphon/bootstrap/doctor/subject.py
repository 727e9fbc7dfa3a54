"""What is examined, and what is found."""

import contextlib
import os
from pathlib import Path
from typing import Literal

import msgspec

from antiphon.config import Loaded, Settings, load_with_origins
from antiphon.core.errors import ConfigError
from antiphon.registry.catalogue import known_names
from antiphon.registry.progress import Progress, silent

Status = Literal["ok", "warning", "error"]


class Finding(msgspec.Struct, frozen=True):
    """What a check found."""

    check: str
    status: Status
    found: str
    remedy: str = ""
    """What to do; empty where nothing needs to be done."""


class Subject(msgspec.Struct, frozen=True):
    """What the checks look at."""

    loaded: Loaded | None = None
    """The settings; None where they cannot be read."""
    errors: tuple[ConfigError, ...] = ()
    """What is wrong with the settings. Where only keys are missing, ``loaded`` is there without any key."""
    online: bool = False
    """Providers may be asked."""
    url: str = ""
    """A running server to look at besides; empty for none."""
    progress: Progress = silent
    """Told about long work."""

    @property
    def settings(self) -> Settings:
        """The settings, for checks that are made only where there are any."""
        assert self.loaded is not None
        return self.loaded.settings


def read_subject(file: Path | None, *, online: bool = False, url: str = "", progress: Progress = silent) -> Subject:
    """Read the settings as far as that can be done; what keeps it from being done is in the subject."""
    try:
        return Subject(load_with_origins(file, os.environ, _added), (), online, url, progress)
    except ConfigError as error:
        errors = tuple(getattr(error, "errors", ())) or (error,)
    for known in (_added, None):  # keys may be missing, or the list of added models may be broken too
        with contextlib.suppress(ConfigError):
            return Subject(load_with_origins(file, os.environ, known, secrets=False), errors, online, url, progress)
    return Subject(None, errors, online, url, progress)


def _added(settings: Settings) -> tuple[str, ...]:
    return known_names(Path(settings.data_dir))
