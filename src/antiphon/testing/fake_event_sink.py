"""An event sink for tests."""

import asyncio

import msgspec

from antiphon.core.errors import UpstreamUnreachable
from antiphon.core.events import CallFinished, EventBundle


class FakeEventSink:
    """Keeps the bundles that it is sent; refuses them while ``up`` is false, and lets the sender wait while it is stuck."""

    def __init__(self) -> None:
        self.up = True
        self.bundles: list[EventBundle] = []
        self.tries = 0
        self._free = asyncio.Event()
        self._free.set()

    def stick(self) -> None:
        """Answer nothing until ``free``."""
        self._free.clear()

    def free(self) -> None:
        """Answer again."""
        self._free.set()

    async def send(self, bundle: bytes) -> None:
        self.tries += 1
        await self._free.wait()
        if not self.up:
            raise UpstreamUnreachable("the event sink is down")
        self.bundles.append(msgspec.msgpack.decode(bundle, type=EventBundle))

    @property
    def events(self) -> list[CallFinished]:
        """All events, in the order of their arrival."""
        return [event for bundle in self.bundles for event in bundle.events]
