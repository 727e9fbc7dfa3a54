"""Errors in the shape of OpenAI's API, which the engine host and the compute host answer in too."""

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.execution.wire.statuses import status_of


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
    return status, body(status, str(error), request_id, param=error.param, code=error.code, remedy=error.remedy)


def body(
    status: int, message: str, request_id: str, *, param: str | None = None, code: str | None = None, remedy: str = ""
) -> bytes:
    """JSON body of what is told under a status."""
    return _encode(_Body(_Error(message, type_of(status), param, code, remedy), request_id))
