"""SIGHUP: a wish that the settings are read again, or the news that the server's window was closed."""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType


class Hangup:
    """Make it on the main thread, as soon as the process knows that it will be a server: what comes before ``attach`` is kept.

    A window that is closed before that ends the process, as it would any other.
    """

    def __init__(self) -> None:
        # what is started with nohup, or without a terminal, takes SIGHUP only as a wish to reload
        self._on_terminal = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN and _has_terminal()
        self._wished = False
        signal.signal(signal.SIGHUP, self._early)

    def attach(self, loop: asyncio.AbstractEventLoop, reload: Callable[[], None], end: Callable[[], None]) -> None:
        """From now on call one of the two on the loop; ``reload`` at once if it was wished for before."""

        def hung_up() -> None:
            if self._window_closed():
                end()
            else:
                reload()

        loop.add_signal_handler(signal.SIGHUP, hung_up)
        if self._wished:
            reload()

    def _early(self, number: int, _: FrameType | None) -> None:
        if self._window_closed():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._wished = True

    def _window_closed(self) -> bool:
        return self._on_terminal and not _has_terminal()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
