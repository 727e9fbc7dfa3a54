"""A server of our own, started for a command and stopped behind it."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from antiphon.core.errors import SetupError

PATIENCE = 60.0
"""Seconds until it must serve."""
_SERVING = re.compile(r"serving .* on (https?://\S+)/v1")


@contextlib.contextmanager
def own_server(configuration: str) -> Iterator[str]:
    """Run ``antiphon serve`` with this configuration, on a free port and with files of its own; gives its URL.

    Raises SetupError where it does not serve.
    """
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        file = Path(folder, "antiphon.yaml")
        file.write_text(f"{configuration}data_dir: {folder}/data\ncache_dir: {folder}/cache\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")}
        command = [sys.executable, "-m", "antiphon", "serve", "--config", str(file), "--port", "0", "--no-local"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True) as server:
            said = _Said(server)
            try:
                yield said.url()
            finally:
                server.terminate()
                said.end()


class _Said:
    """What the server says, read to its end so that it is never held up."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server
        self._lines: list[str] = []
        self._url = ""
        self._known = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def url(self) -> str:
        """Where it serves. Raises SetupError where it does not."""
        self._known.wait(PATIENCE)
        if not self._url:
            raise SetupError(
                f"the server did not start: {' '.join(self._lines[-5:])}", remedy='see what "antiphon doctor" says of this machine'
            )
        return self._url

    def end(self) -> None:
        """Hear it out."""
        self._listener.join(PATIENCE)

    def _listen(self) -> None:
        assert self._server.stderr is not None
        for line in self._server.stderr:
            self._lines = [*self._lines[-20:], line.strip()]
            if found := _SERVING.search(line):
                self._url = found[1]
                self._known.set()
        self._known.set()
