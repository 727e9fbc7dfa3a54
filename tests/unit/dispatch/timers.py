"""Timers that ring on a fake clock."""


class Timer:
    """What ``call_later`` gives back: it can be cancelled, which the fake clock's own cannot."""

    def __init__(self, ring):
        self.ring = ring

    def cancel(self):
        self.ring = None

    def __call__(self):
        if self.ring is not None:
            self.ring()
