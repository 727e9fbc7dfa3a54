"""Revokes and restores keys, and hears from the workers of running servers that they obey."""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from antiphon.bootstrap.doctor.asking import Question, ask_all
from antiphon.bootstrap.process import socket_path
from antiphon.bootstrap.revocations import Revocation, append
from antiphon.bootstrap.run_folders import run_folders
from antiphon.bootstrap.worker_keys import KEYS_PATH, KeyReport
from antiphon.core.errors import AntiphonError
from antiphon.transport.client import Origin

PAUSE = 0.02
"""Seconds between two rounds of questions."""

PATIENCE = 2.0
"""Seconds for an answer to one of them."""


class Outcome(msgspec.Struct, frozen=True):
    """How a change of the revocations went."""

    obeying: tuple[str, ...]
    """Workers that say that they obey it."""
    silent: tuple[str, ...]
    """Workers that have not said so in time."""
    seconds: float
    """From the change to the last word."""


def revoke(path: Path, revocations: Sequence[Revocation], patience: float) -> Outcome:
    """Write the change down and wait, at most ``patience`` seconds, until every worker that follows ``path`` says that it obeys.

    Workers that are about to start are not waited for: they read the file before they serve. Raises NoSpace or SetupError where
    nothing could be written.
    """
    began = time.monotonic()
    length = append(path, revocations)
    while True:
        obeying, silent = _round(path, length)
        seconds = time.monotonic() - began
        if not silent or seconds > patience:
            return Outcome(tuple(obeying), tuple(silent), seconds)
        time.sleep(PAUSE)


def _round(path: Path, length: int) -> tuple[list[str], list[str]]:
    questions = {
        f"{row.name} of the server on port {folder.state.port}": Question(
            Origin(socket_path=socket_path(str(folder.path), row.name)), KEYS_PATH
        )
        for folder in run_folders()
        if folder.alive and folder.state is not None
        for row in folder.state.processes
        if row.role == "worker" and row.state in ("ready", "draining")
    }
    obeying: list[str] = []
    silent: list[str] = []
    for name, answer in ask_all(questions, PATIENCE).items():
        if isinstance(answer, AntiphonError):
            silent.append(name)
            continue
        try:
            report = msgspec.json.decode(answer.body, type=KeyReport)
        except msgspec.MsgspecError:
            silent.append(name)
            continue
        if _same(Path(report.revocations), path):
            (obeying if report.position >= length else silent).append(name)
    return obeying, silent


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
