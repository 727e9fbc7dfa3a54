"""Callers, one file a dialect: each says an ask in it and reads what it hears, by hand."""

from typing import Any, Protocol

from antiphon.core.plugins import PluginGroup
from antiphon.testing.matrix.telling import Answer, Ask, Failure


class Caller(Protocol):
    """What a caller's file ends in."""

    endpoint: str
    """The name of its endpoint, as calls carry it."""
    untold: frozenset[str]
    """Fields of an answer that the dialect has no words for."""

    def request(self, ask: Ask, *, stream: bool) -> dict[str, Any] | None:
        """The body for the model ``mock-model``, its usage asked for; None where the dialect has no words for the ask."""

    def heard(self, status: int, body: bytes) -> Answer | Failure:
        """What an answer in one piece says."""

    def heard_stream(self, body: bytes) -> Answer | Failure:
        """What a stream says that was answered with status 200; a failure of status 0 where it is not complete."""


CALLERS = PluginGroup("antiphon.testing.callers", "antiphon.testing.matrix.callers")
