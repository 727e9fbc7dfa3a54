"""The real clock."""

import time


class SystemClock:
    """Clock of this machine."""

    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)
