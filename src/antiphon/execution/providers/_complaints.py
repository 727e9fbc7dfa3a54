"""Tells the log of a provider's troubles: once when one begins or changes, and once when they are over."""

import logging
import time
from collections.abc import Callable
from typing import Final

from antiphon.core.errors import UpstreamError, UpstreamRefused

QUIET: Final = 60.0
"""Seconds between two lines about the same kind of trouble: a server that fails every other call must not fill the log."""

_OPERATORS = frozenset((401, 402, 403, 407))
"""Statuses below 500 that the operator has to look into; the others are about one call."""

log = logging.getLogger(__name__)


class Complaints:
    """What the log has been told of one provider. Calls see each failure; whoever runs the server sees it here."""

    def __init__(self, provider: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._provider = provider
        self._monotonic = monotonic
        self._told: dict[str, str] = {}
        """What it complains of now, by the code of the error."""
        self._last: dict[str, float] = {}

    def failed(self, error: UpstreamError) -> None:
        """Warn, unless the same was said last of this kind of trouble, or something of it a moment ago."""
        if isinstance(error, UpstreamRefused) and error.status < 500 and error.status not in _OPERATORS:
            return
        now = self._monotonic()
        if self._told.get(error.code) == error.message or now - self._last.get(error.code, -QUIET) < QUIET:
            return
        self._told[error.code] = error.message
        self._last[error.code] = now
        log.warning("calls to provider %s fail (%s): %s; %s", self._provider, error.code, error.message, error.remedy)

    def answered(self) -> None:
        """A call was answered in full."""
        if self._told:
            self._told.clear()
            log.info("provider %s answers again", self._provider)
