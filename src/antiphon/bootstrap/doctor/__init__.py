"""Looks at everything that a server needs, and says what to do about what is wrong. Nothing is started or changed.

One module a subject. Each check takes the ``Subject`` and gives its findings; one that fails itself does not keep the others back.
"""

from collections.abc import Callable, Iterable, Iterator

from antiphon.bootstrap.doctor import configuration, leftovers, local, machine, online, places, ports, revoked
from antiphon.bootstrap.doctor.subject import Finding, Subject, read_subject
from antiphon.core.errors import AntiphonError

__all__ = ["Finding", "Subject", "examine", "read_subject"]

Check = Callable[[Subject], Iterable[Finding]]

ALWAYS: dict[str, Check] = {
    "configuration": configuration.readable,
    "python": machine.python,
    "packages": machine.packages,
    "clock": machine.clock,
    "locale": machine.locale,
    "leftovers": leftovers.run_folders_of_the_dead,
}
"""Checks that need no settings, so that they are made even where those cannot be read."""

WITH_SETTINGS: dict[str, Check] = {
    "permissions": configuration.permissions,
    "keys": configuration.keys,
    "revocations": revoked.revocations,
    "port": ports.port,
    "folders": places.folders,
    "open files": machine.open_files,
    "cores": machine.cores,
    "models": local.models,
    "engines": local.engines,
}

ONLINE: dict[str, Check] = {"providers": online.providers}
"""Checks that talk to other machines, made only if asked for."""


def examine(subject: Subject) -> Iterator[Finding]:
    """Make every check, and give each finding as soon as it is there."""
    checks = dict(ALWAYS)
    if subject.url:
        checks["server"] = ports.server
    if subject.loaded is not None:
        checks |= WITH_SETTINGS
        if subject.online:
            checks |= ONLINE
    for name, check in checks.items():
        yield from _made(name, check, subject)


def _made(name: str, check: Check, subject: Subject) -> Iterator[Finding]:
    try:
        yield from check(subject)
    except AntiphonError as error:
        yield Finding(name, "error", error.message, error.remedy)
    except Exception as error:  # the border to a check: whatever is wrong with it, the others are made
        yield Finding(name, "warning", f"this check itself failed: {type(error).__name__}: {error}", "please report it")
