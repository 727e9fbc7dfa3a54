"""Runs the real command line in a process of its own, for the tests beside it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

COMMAND = (sys.executable, "-m", "antiphon")
PATIENCE = 60.0
"""Seconds that a command may take on a loaded machine."""


class Finished(msgspec.Struct, frozen=True):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that ``--json`` reports."""
        return json.loads(self.err)["error"]


class CommandLine:
    """A user in an empty home folder, without configuration. ``folder`` is the working folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANTIPHON_", "XDG_"))}
        self.environ = {**clean, "HOME": str(folder / "home"), "NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb"}

    def run(self, *args: str, stdin: bytes | None = None, code: int = 0, **variables: str) -> Finished:
        """Run ``antiphon ARGS`` to its end, which must be with this exit code."""
        process = self.start(
            args,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environ, **variables},
        )
        with process:
            try:
                out, err = process.communicate(stdin, PATIENCE)
            finally:
                process.kill()
        result = Finished(process.returncode, out.decode(), err.decode())
        assert result.code == code, result
        assert "Traceback" not in result.err, result
        return result

    def start(self, args: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start ``antiphon ARGS``; the caller ends it."""
        return subprocess.Popen([*COMMAND, *args], cwd=self.folder, **{"env": self.environ, **options})
