"""A running server, and what it says."""

import re
import signal
import subprocess
import threading
import time

from tests.acceptance.command_line import PATIENCE


class Server:
    """A running ``antiphon serve``; collects what it says."""

    def __init__(self, process: subprocess.Popen[bytes], patience: float = PATIENCE) -> None:
        self.process = process
        self._patience = patience
        self.said = ""
        self._more = threading.Condition()
        self._ended = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def wait_said(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + self._patience
        with self._more:
            while not (match := re.search(pattern, self.said)):
                assert not self._ended, self.said
                assert self._more.wait(deadline - time.monotonic()), self.said
        return match

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(self._patience)
        self._listener.join(self._patience)
        return code

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                with self._more:
                    self.said += line.decode()
                    self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()
