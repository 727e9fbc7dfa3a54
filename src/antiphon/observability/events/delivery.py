"""Where bundles of events go over HTTP, and what arrives twice."""

from typing import Final

from antiphon.core.errors import UpstreamBroken
from antiphon.transport.client import ClientPool
from antiphon.transport.fetching import fetch

PATH: Final = "/internal/events"
MEDIA_TYPE: Final = "application/msgpack"
MAX_AHEAD: Final = 10_000
"""Numbers of one instance that are remembered singly."""
MAX_INSTANCES: Final = 1_000
"""Instances that are remembered."""


class HttpSink:
    """EventSink that posts bundles to the control plane."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool

    async def send(self, bundle: bytes) -> None:
        response = await fetch(self._pool, "POST", PATH, ((b"content-type", MEDIA_TYPE.encode()),), bundle)
        if response.status != 204:
            raise UpstreamBroken(f"the control plane answered status {response.status} to events")


class Arrivals:
    """Tells bundles that arrived before: each may come twice, and late."""

    def __init__(self) -> None:
        self._instances: dict[str, _Numbers] = {}

    def seen(self, instance: str, number: int) -> bool:
        """Whether this bundle was marked before."""
        numbers = self._instances.get(instance)
        return numbers is not None and (number <= numbers.all_until or number in numbers.ahead)

    def mark(self, instance: str, number: int) -> None:
        """This bundle has been recorded."""
        numbers = self._instances.get(instance)
        if numbers is None:
            if len(self._instances) >= MAX_INSTANCES:
                del self._instances[next(iter(self._instances))]
            numbers = self._instances[instance] = _Numbers()
        ahead = numbers.ahead
        ahead.add(number)
        while numbers.all_until + 1 in ahead or len(ahead) > MAX_AHEAD:
            numbers.all_until = min(ahead)
            ahead.remove(numbers.all_until)


class _Numbers:
    def __init__(self) -> None:
        self.all_until = 0
        self.ahead: set[int] = set()
