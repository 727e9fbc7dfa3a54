"""What the coordinator has acknowledged to a worker: until when the worker's escrow is its own, and who waits for a settlement."""

from collections import deque
from collections.abc import Callable


class Acknowledged:
    """Messages on their way. All moments are the worker's monotonic clock's, s."""

    __slots__ = ("_drains", "_lease", "_sent", "valid_until")

    def __init__(self) -> None:
        self.valid_until = 0.0
        """Until when the coordinator keeps what lies in escrow here for this worker."""
        self._lease = 0.0
        self._sent: deque[tuple[int, float]] = deque()
        """Messages that will be acknowledged, and when they were sent."""
        self._drains: list[tuple[int, Callable[[], None]]] = []

    def begin(self, mono: float) -> None:
        """A connection's first message goes out."""
        self._sent.clear()
        self._sent.append((0, mono))

    def welcomed(self, lease: float) -> None:
        """The first message was taken."""
        self._lease = lease
        self.valid_until = self._sent.popleft()[1] + lease

    def sent(self, number: int, mono: float) -> None:
        """A message that will be acknowledged goes out."""
        self._sent.append((number, mono))

    def heard(self, number: int) -> None:
        """Messages up to this one were taken."""
        while self._sent and self._sent[0][0] <= number:
            self.valid_until = self._sent.popleft()[1] + self._lease
        due = [then for beat, then in self._drains if 0 < beat <= number]
        self._drains = [(beat, then) for beat, then in self._drains if not 0 < beat <= number]
        for then in due:
            then()

    def drain(self, then: Callable[[], None]) -> None:
        """Call back once everything that was settled until now has been taken."""
        self._drains.append((0, then))

    def wants_beat(self) -> bool:
        """Whether somebody waits who has no message yet to wait for."""
        return any(not number for number, _ in self._drains)

    def beats(self, number: int) -> None:
        """Who waits, waits for this message."""
        self._drains = [(beat or number, then) for beat, then in self._drains]

    def lost(self) -> None:
        """The connection is gone: who waits, waits for the next one."""
        self._drains = [(0, then) for _, then in self._drains]
