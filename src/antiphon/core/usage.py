"""What callers have used: how it is asked for, and told."""

from datetime import UTC, datetime
from typing import Final, Literal, get_args

import msgspec

Dimension = Literal["key", "team", "project", "application", "user", "model", "target", "route", "endpoint", "hour", "day", "month"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
"""What usage can be told by. Times are in UTC: ``2026-12-01T09``, ``2026-12-01`` and ``2026-12``."""

MAX_ROWS: Final = 10_000
"""Rows of one answer."""


def hour_of(moment: float) -> str:
    """The hour of a Unix time, in UTC: ``2026-12-01T09``, which begins with its day, and that with its month."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H")


class UsageQuery(msgspec.Struct, frozen=True):
    """Which calls, and what they are put together by."""

    by: tuple[Dimension, ...] = ()
    since: float = 0.0
    """Unix time, seconds, from which on calls began."""
    until: float = 0.0
    """Unix time, seconds, before which they began; 0 sets no end."""
    only: dict[Dimension, str] = {}
    """Only calls that have these values."""


class UsageRow(msgspec.Struct, frozen=True):
    """What some calls used together."""

    group: dict[Dimension, str]
    """The value of each dimension that was asked for; empty texts where calls had none."""
    calls: int = 0
    errors: int = 0
    """Calls that failed, whoever was to blame."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: int = 0
    """Calls whose usage is an estimate."""
    cost: int = 0
    """In millionths of the unit of money."""
