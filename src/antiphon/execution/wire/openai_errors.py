"""Errors in the shape of OpenAI's API: an HTTP status and an error object.

The gateway, the engine host and the compute host all answer in this shape, so the table stands here, below all three.
"""

import msgspec

from antiphon.core import errors
from antiphon.core.errors import AntiphonError, UpstreamRefused

_STATUS: dict[type[AntiphonError], int] = {
    errors.RequestError: 400,
    errors.PayloadTooLarge: 413,
    errors.Unauthenticated: 401,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.CapacityError: 503,
    errors.QueueFull: 429,
    errors.UpstreamError: 502,
    errors.UpstreamTimeout: 504,
    errors.ClientGone: 499,
    errors.AntiphonError: 500,
}
"""The status of each kind of error; a kind that is not named has the status of the nearest kind above it."""


class _Error(msgspec.Struct, omit_defaults=True):
    message: str
    type: str
    param: str | None
    code: str | None
    remedy: str = ""
    """The end of the message by itself, for programs that show it in a place of its own."""


class _Body(msgspec.Struct):
    error: _Error
    request_id: str


_encode = msgspec.json.Encoder().encode


def status_of(error: AntiphonError) -> int:
    """HTTP status of an error. One that a model's server chose is passed on, unless it is about our credentials with it."""
    if isinstance(error, UpstreamRefused):
        return 502 if error.status in (401, 403, 407) else error.status
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return _STATUS[kind]
    return 500


def type_of(status: int) -> str:
    """OpenAI's name for the kind of error behind a status."""
    if status == 401:
        return "authentication_error"
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def render(error: AntiphonError, request_id: str) -> tuple[int, bytes]:
    """HTTP status and JSON body: ``{"error": {"message", "type", "param", "code", "remedy"}, "request_id"}``."""
    status = status_of(error)
    return status, _encode(_Body(_Error(str(error), type_of(status), error.param, error.code, error.remedy), request_id))
