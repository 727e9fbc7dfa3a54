"""Who talks over a worker's connection to the coordinator: several parties, each with messages of its own."""

from typing import Protocol

import msgspec


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What goes over the connection. The tag is the kind's name."""


class Link(Protocol):
    """The way to the coordinator."""

    def send(self, message: Message) -> None:
        """Pass a message on. Only called between ``connected`` and ``lost``."""

    def wake(self, delay: float) -> None:
        """Call ``flush`` of every party after ``delay`` seconds, or sooner; 0 means once what runs now is over."""


class Party(Protocol):
    """One side of a conversation with the coordinator."""

    def attach(self, link: Link) -> None:
        """Say who carries the messages; before anything else."""

    def connected(self) -> None:
        """A connection stands."""

    def lost(self) -> None:
        """The connection is gone."""

    def received(self, message: Message) -> None:
        """The coordinator's word; that which is for another party is ignored."""

    def flush(self) -> None:
        """Tell the coordinator what there is to tell. Called when ``wake`` asked for it."""

    def beat(self) -> None:
        """Called about twice a second."""
