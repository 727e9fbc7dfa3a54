"""What the supervisor tells whoever runs it, for people to read."""

from typing import Literal

import msgspec

Kind = Literal[
    "starting",
    "loading",
    "ready",
    "failed",
    "restarting",
    "stopped",
    "serving",
    "reloading",
    "reloaded",
    "refused",
    "draining",
    "ended",
]
"""The last six are about the server: ``serving``, it answers, and ``text`` is its URL; ``refused``, a reload changed nothing."""


class Notice(msgspec.Struct, frozen=True):
    """One piece of news."""

    kind: Kind
    process: str = ""
    """Name of the process; empty where it is about the server as a whole."""
    text: str = ""
