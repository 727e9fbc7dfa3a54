"""The HTTP status of every error, the same in each dialect.

The gateway, the engine host and the compute host all answer with them, so the table stands here, below all three.
"""

from antiphon.core import errors
from antiphon.core.errors import AntiphonError, UpstreamRefused

_STATUS: dict[type[AntiphonError], int] = {
    errors.RequestError: 400,
    errors.PayloadTooLarge: 413,
    errors.UnsupportedEncoding: 415,
    errors.Unauthenticated: 401,
    errors.PermissionDenied: 403,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.CapacityError: 503,
    errors.QueueFull: 429,
    errors.LimitReached: 429,
    errors.UpstreamError: 502,
    errors.UpstreamTimeout: 504,
    errors.ClientGone: 499,
    errors.AntiphonError: 500,
}
"""The status of each kind of error; a kind that is not named has the status of the nearest kind above it."""


def status_of(error: AntiphonError) -> int:
    """HTTP status of an error. One that a model's server chose is passed on, unless it is about our credentials with it."""
    if isinstance(error, UpstreamRefused):
        return 502 if error.status in (401, 403, 407) else error.status
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return _STATUS[kind]
    return 500
