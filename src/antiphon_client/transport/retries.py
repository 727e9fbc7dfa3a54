"""Whether a call that failed is tried again, and after which pause. Decides, and waits for nothing.

Tried again is what did no harm: where nothing was sent, where the connection closed before any answer, and where the server says
that it may be (408, 429, 5xx, or ``x-should-retry``). Never once an answer has begun, and never after a time-out: the server may
still be at work. A call that changes something at the server is tried again only where the server cannot have begun it.
"""

import email.utils
import math
import time
from collections.abc import Mapping

from antiphon_client.errors import APIConnectionError, APIError, APIStatusError, APITimeoutError, CannotConnectError

FIRST_PAUSE = 0.5
"""Seconds."""
LONGEST_PAUSE = 8.0
LONGEST_ASKED = 60.0
"""Seconds that a server may ask us to wait. Where it asks for more, the caller decides, who finds it in ``retry_after``."""

_RETRIED = frozenset({408, 429, 500, 502, 503, 504, 529})
_NOT_BEGUN = frozenset({408, 429, 503, 529})
"""Statuses of calls that the server did not begin."""
_FINAL = frozenset({"insufficient_quota", "budget_exceeded", "quota_exceeded"})
"""Codes of limits that no short pause helps against."""


def worth_retrying(error: APIError, *, repeatable: bool) -> bool:
    """Whether the same call may fare better."""
    if isinstance(error, APIStatusError):
        told = error.details.worth_retrying
        if told is not None:
            return told
        return error.status in (_RETRIED if repeatable else _NOT_BEGUN) and error.code not in _FINAL
    if isinstance(error, CannotConnectError):
        return error.details.worth_retrying is not False
    if isinstance(error, APITimeoutError):
        return False
    return isinstance(error, APIConnectionError) and repeatable and error.details.worth_retrying is not False


def pause(failures: int, asked: float | None, chance: float) -> float | None:
    """Seconds to wait after this many failures; None where the server asks for more than ``LONGEST_ASKED``.

    Doubles each time, and ``chance`` (0 to 1) takes up to half of it off, so that callers who failed together do not come back
    together. What the server asked for is kept to, with up to a tenth on top.
    """
    if asked is not None:
        return asked * (1 + 0.1 * chance) if asked <= LONGEST_ASKED else None
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 16), LONGEST_PAUSE) * (1 - 0.5 * chance)


def asked_pause(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that a response asks to wait: ``retry-after-ms``, or ``retry-after`` as seconds or as a date (RFC 9110, 10.2.3)."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after", "").strip()
    seconds = _number(told)
    if seconds is not None or not told:
        return seconds
    try:
        date = email.utils.parsedate_to_datetime(told).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, date - (time.time() if now is None else now))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number >= 0 and math.isfinite(number) else None
