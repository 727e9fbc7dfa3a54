"""Moments as people write them."""

import re
from datetime import UTC, datetime
from typing import Final

_LATEST: Final = 253_402_300_799.0
"""The last second of the year 9999."""
_NUMBER: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")

HOW: Final = "a date like 2026-12-01, a time like 2026-12-01T09:00:00Z, or Unix time in seconds"
"""What ``parse_moment`` understands."""


def parse_moment(text: str) -> float:
    """Unix time, in seconds, of a date or a time (ISO 8601, in UTC unless it says otherwise) or a number. Raises ValueError."""
    if _NUMBER.fullmatch(text):
        return min(float(text), _LATEST)
    found = datetime.fromisoformat(text)
    try:
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except OverflowError as error:
        raise ValueError(str(error)) from None
