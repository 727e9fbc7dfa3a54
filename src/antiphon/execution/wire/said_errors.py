"""What a server's error body says, in whatever dialect: OpenAI's, Anthropic's, Google's, or the looser ones of their imitators.

Google tells a wrong key with status 400, and how long to wait inside of the body (its "AIP-193: Errors"). DashScope puts an error
into a server-sent event even where the answer is no stream.
"""

import re
from typing import Any

import msgspec

from antiphon.core.errors import UpstreamRefused
from antiphon.execution.wire.chat_answer import Failed
from antiphon.execution.wire.reading import UNREADABLE, encode
from antiphon.execution.wire.statuses import status_of
from antiphon.transport import sse

_MESSAGES = ("message", "Message", "msg", "detail")
"""What servers call it; some give a list of what is wrong, or an object, in place of words."""
_DELAY = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,9})?)s")
MAX_SHOWN = 2000
"""Characters of a body that is not JSON, or of a message, that are passed on."""


class _Words(msgspec.Struct):
    message: str


class _Worded(msgspec.Struct):
    error: _Words


_decode_worded = msgspec.json.Decoder(_Worded).decode


def is_object(body: bytes) -> bool:
    """Whether a body is, as far as its beginning tells, the JSON of an object."""
    return body.lstrip()[:1] == b"{"


def is_worded(body: bytes) -> bool:
    """Whether a body is ``{"error": {"message": "..."}}``, as OpenAI's and Anthropic's clients expect it."""
    try:
        _decode_worded(body)
    except UNREADABLE:
        return False
    return True


def read_error(status: int, body: bytes) -> Failed:
    """Status, message and the vendor's name for an error that came with a body."""
    try:
        told = _decoded(body)
    except UNREADABLE:
        text = " ".join(body[: 4 * MAX_SHOWN].decode("utf-8", "replace").split())
        return Failed(status, _shown(status, "" if text.startswith("<") else text))
    return said(told.get("error", told) if isinstance(told, dict) else told, status)


def said(error: Any, status: int) -> Failed:
    """The same for an error object, with the status that it names itself in place of ``status`` where it names one."""
    if isinstance(error, list) and error:
        error = error[0].get("error", error[0]) if isinstance(error[0], dict) else error[0]
    if not isinstance(error, dict):
        return Failed(status, _shown(status, error if isinstance(error, str) else ""))
    message = next((error[name] for name in _MESSAGES if error.get(name)), "")
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        status = code
    names = [name for name in (code, error.get("type"), error.get("status")) if isinstance(name, str) and name]
    given = error.get("details")
    details = [detail for detail in given if isinstance(detail, dict)] if isinstance(given, list) else []
    if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
        status = 401
    told = message if isinstance(message, str) else encode(message).decode()
    return Failed(status, _shown(status, told), names[0] if names else "", _wait(details))


def refused(failed: Failed) -> UpstreamRefused:
    """The error for what a server told inside an answer. Its body is in no dialect, so that callers of every one get their own."""
    body = msgspec.json.encode({"error": {"message": failed.message, "type": failed.code}})
    return UpstreamRefused(failed.status, body, retry_after=failed.retry_after, dialect="")


def of_refused(error: UpstreamRefused) -> Failed:
    """What the server behind an UpstreamRefused said, with the status that callers see."""
    return msgspec.structs.replace(read_error(error.status, error.body), status=status_of(error))


def _decoded(body: bytes) -> Any:
    """The JSON of a body, or of the first event in it. Raises one of ``UNREADABLE``."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        events = sse.parse(body)
        return msgspec.json.decode(events[0].data if events else b"")


def _wait(details: list[dict[str, Any]]) -> float | None:
    """Seconds of a ``RetryInfo``, whose delay is spelled as ``34.07s``."""
    for detail in details:
        delay = detail.get("retryDelay")
        found = _DELAY.fullmatch(delay) if isinstance(delay, str) else None
        if found is not None:
            return float(found[1])
    return None


def _shown(status: int, text: str) -> str:
    return text[:MAX_SHOWN] or str(UpstreamRefused(status, b""))
