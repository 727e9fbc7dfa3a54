"""A child is told which public sockets are its own, and says how that went."""

import asyncio
from collections.abc import Mapping

from antiphon.bootstrap.process import Child, ProcessSpec, Status
from antiphon.bootstrap.shares import Share
from antiphon.config import Settings
from antiphon.core.errors import SetupError

SPEC = ProcessSpec("worker", "worker-0", 1, "/tmp/antiphon-x", Settings(), status_fd=7)


class Told:
    def __init__(self, *, holds: bool = True, error: Exception | None = None) -> None:
        self.statuses: list[Status] = []
        self.held: list[Mapping[int, int | None]] = []
        self._error = error
        self.child = Child(SPEC, asyncio.Event(), self.statuses.append)
        self.child.ready(lambda _: None, self._hold if holds else None)

    async def _hold(self, public: Mapping[int, int | None]) -> None:
        if self._error:
            raise self._error
        self.held.append(public)

    def share(self, share: Share, *descriptors: int) -> Status:
        asyncio.run(self.child.share(share, descriptors))
        return self.statuses[-1]


def test_what_is_new_comes_with_its_descriptor():
    told = Told()
    assert told.share(Share(2, (30, 31, 32), (31, 32)), 5, 6) == Status("updated", share=2)
    assert told.held == [{30: None, 31: 5, 32: 6}]


def test_whoever_takes_none_says_so():
    refused = Told(holds=False).share(Share(1, (30,)))
    assert (refused.state, refused.share) == ("refused", 1)
    assert "takes no other sockets" in refused.message


def test_descriptors_that_were_lost_on_the_way_are_told():
    told = Told()
    refused = told.share(Share(1, (30, 31), (30, 31)), 5)
    assert (refused.state, refused.share) == ("refused", 1)
    assert "1 of 2 public sockets" in refused.message
    assert told.held == []


def test_what_goes_wrong_is_told():
    refused = Told(error=SetupError("no room")).share(Share(4, (30,)))
    assert (refused.state, refused.share, refused.message) == ("refused", 4, "no room")
