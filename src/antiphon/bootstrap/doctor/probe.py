"""Loads the library of an engine or an encoder in a process of its own: on a processor that it was not built for it may crash.

``python -m antiphon.bootstrap.doctor.probe`` reads a ``Question`` from standard input and writes a ``Report``.
"""

import os
import signal
import subprocess
import sys
from typing import Literal

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.execution.encoders import ENCODERS
from antiphon.execution.engines import ENGINES, EngineOptions, Inspectable

PATIENCE = 120.0
"""Seconds for a library to be loaded, from a cold disk too."""
REINSTALL = 'install Antiphon again ("pip install --force-reinstall antiphon"), on a system that its engine supports'


class Question(msgspec.Struct, frozen=True):
    """What is to be loaded."""

    kind: Literal["engine", "encoder"]
    name: str
    models: tuple[EngineOptions, ...] = ()
    """Engines: models to judge."""


class Report(msgspec.Struct, frozen=True):
    """What came of it."""

    versions: str = ""
    """Name and version, where the plugin tells them."""
    memory: tuple[int, ...] = ()
    """Bytes that each model takes; empty where the plugin does not tell."""
    supports: tuple[bool, ...] = ()
    """Whether each model is of a kind that the engine loads."""
    error: str = ""
    remedy: str = ""


def run(question: Question) -> Report:
    """Load it in another process. Never raises: what went wrong is in the report."""
    command = (sys.executable, "-P", "-m", __name__)
    try:
        ended = subprocess.run(command, input=msgspec.json.encode(question), capture_output=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return Report(error=f"its library was not loaded within {PATIENCE:g} s", remedy="look at the disk and the memory")
    except OSError as error:
        return Report(error=f"no process can be started: {error.strerror}", remedy="free some memory")
    if ended.returncode < 0:
        name = signal.Signals(-ended.returncode).name
        return Report(error=f"its library crashes here ({name})", remedy="its processor or memory is not what the library needs")
    try:
        return msgspec.json.decode(ended.stdout, type=Report)
    except msgspec.MsgspecError:
        last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return Report(error=last[:500] or f"its process ended with exit code {ended.returncode}", remedy=REINSTALL)


def answer(question: Question) -> Report:
    """Load it in this process. Raises what loading raises."""
    if question.kind == "encoder":
        ENCODERS.load(question.name)
        return Report()
    plugin = ENGINES.load(question.name)
    supports = tuple(plugin.supports(model.path) for model in question.models)
    if not isinstance(plugin, Inspectable):
        return Report(supports=supports)
    return Report(plugin.versions(), tuple(plugin.memory_needed(model) for model in question.models), supports)


def main() -> None:
    """Answer the question on standard input."""
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    output = os.dup(1)
    os.dup2(2, 1)  # a library that greets its users must not do it in the middle of the report
    try:
        report = answer(question)
    except AntiphonError as error:
        report = Report(error=error.message, remedy=error.remedy)
    except (ImportError, OSError) as error:
        report = Report(error=f"its library cannot be loaded: {error}", remedy=REINSTALL)
    with os.fdopen(output, "wb") as stream:
        stream.write(msgspec.json.encode(report))


if __name__ == "__main__":
    main()
