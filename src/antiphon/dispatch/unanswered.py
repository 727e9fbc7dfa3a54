"""What callers hear of calls that were not answered, and what such calls say of the replica."""

from antiphon.core.errors import AntiphonError, CannotBeOnTime, QueueFull, UpstreamError, UpstreamRefused, WaitedTooLong
from antiphon.scheduling.job import Refuse


def refusal(decision: Refuse) -> AntiphonError:
    """What a caller is told whose call is refused."""
    wait = decision.retry_after
    if decision.reason == "late":
        return CannotBeOnTime(retry_after=wait)
    if decision.reason == "waited":
        return WaitedTooLong(retry_after=wait)
    return QueueFull(retry_after=wait)


def speaks_against(error: AntiphonError) -> bool:
    """Whether an error says something of the replica rather than of the call. A 429 is no sickness: it asks for rest."""
    if isinstance(error, UpstreamRefused):
        return error.status >= 500 or error.status in (401, 402, 403, 404, 408)
    return isinstance(error, UpstreamError)
