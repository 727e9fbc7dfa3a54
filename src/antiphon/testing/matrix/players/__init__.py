"""Players, one file a protocol: each plays a server of it by hand, and tells what the server was asked."""

from collections.abc import Sequence
from typing import Any, Protocol

from antiphon.core.plugins import PluginGroup
from antiphon.testing.matrix.telling import Answer, Ask, Failure
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Step


class Player(Protocol):
    """What a player's file ends in."""

    def row(self, url: str) -> dict[str, Any]:
        """The row of configuration for a server at ``url`` (no path), but for its name and models."""

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        """An answer in one piece; None where servers of the protocol cannot say it."""

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        """The same in a stream. The last two steps, at least, come behind the text."""

    def failure(self, failure: Failure) -> Sequence[Step]:
        """An error."""

    def asked(self, request: RecordedRequest) -> Ask:
        """What the server understood. Raises AssertionError for what is none of the protocol, or not for ``mock-model``."""


PLAYERS = PluginGroup("antiphon.testing.players", "antiphon.testing.matrix.players")
