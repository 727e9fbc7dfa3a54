"""What a server's error body says, in whatever dialect: OpenAI's, Anthropic's, or the looser ones of their imitators."""

from typing import Any

import msgspec

from antiphon.core.errors import UpstreamRefused
from antiphon.execution.wire.chat_answer import Failed
from antiphon.execution.wire.reading import UNREADABLE
from antiphon.execution.wire.statuses import status_of

MAX_SHOWN = 2000
"""Characters of a body that is not JSON, or of a message, that are passed on."""


def read_error(status: int, body: bytes) -> Failed:
    """Status, message and the vendor's name for an error that came with a body."""
    try:
        told = msgspec.json.decode(body)
    except UNREADABLE:
        text = " ".join(body[: 4 * MAX_SHOWN].decode("utf-8", "replace").split())
        return Failed(status, _shown(status, "" if text.startswith("<") else text))
    return said(told.get("error", told) if isinstance(told, dict) else told, status)


def said(error: Any, status: int) -> Failed:
    """The same for an error object, with the status that it names itself in place of ``status`` where it names one."""
    if not isinstance(error, dict):
        return Failed(status, _shown(status, error if isinstance(error, str) else ""))
    message = error.get("message", error.get("detail"))
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        status = code
    names = [name for name in (code, error.get("type")) if isinstance(name, str) and name]
    return Failed(status, _shown(status, message if isinstance(message, str) else ""), names[0] if names else "")


def refused(failed: Failed) -> UpstreamRefused:
    """The error for what a server told inside an answer. Its body is in no dialect, so that callers of every one get their own."""
    body = msgspec.json.encode({"error": {"message": failed.message, "type": failed.code}})
    return UpstreamRefused(failed.status, body, dialect="")


def of_refused(error: UpstreamRefused) -> Failed:
    """What the server behind an UpstreamRefused said, with the status that callers see."""
    return msgspec.structs.replace(read_error(error.status, error.body), status=status_of(error))


def _shown(status: int, text: str) -> str:
    return text[:MAX_SHOWN] or str(UpstreamRefused(status, b""))
