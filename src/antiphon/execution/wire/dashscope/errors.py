"""Names of DashScope's errors, and the status of each (Model Studio's documentation, "Error codes")."""

from typing import Any, Final

import msgspec

from antiphon.execution.wire.chat_answer import Failed
from antiphon.execution.wire.said_errors import said

_STATUSES: Final = (
    ("InvalidApiKey", 401),
    ("AccessDenied", 403),
    ("Model.AccessDenied", 403),
    ("Workspace.AccessDenied", 403),
    ("ModelNotFound", 404),
    ("Throttling", 429),
    ("LimitRequests", 429),
    ("InternalError", 500),
    ("RequestTimeOut", 504),
    ("InvalidParameter", 400),
    ("DataInspectionFailed", 400),
    ("Arrearage", 400),
)
"""What names begin with."""


def failed(code: Any, message: Any, status: int | None = None) -> Failed:
    """The error in an answer, with its ``status`` where the server told one, else with that of its name."""
    told = said({"code": code, "message": message}, 500)
    return msgspec.structs.replace(told, status=status or _status_of(told.code))


def _status_of(code: str) -> int:
    return next((status for name, status in _STATUSES if code.startswith(name)), 500)
