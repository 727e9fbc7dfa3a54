"""How a streamed response ends that breaks off: it has failed, and an error tells why."""

import re
from typing import Any

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.execution.wire import statuses
from antiphon.execution.wire.reading import UNREADABLE, encode
from antiphon.execution.wire.said_errors import of_refused

_CREATED = re.compile(rb"event: response\.created\ndata: (.*)\n\n")
_OURS = re.compile(rb'"response":\{"id":"resp_ap[0-9a-f]{32}"')
_NUMBER = re.compile(rb'"sequence_number":\s*(\d+)')


class _Error(msgspec.Struct, frozen=True):
    message: str = ""
    code: str | None = None
    param: str | None = None


class _Body(msgspec.Struct):
    error: _Error = _Error()


class _Created(msgspec.Struct):
    response: dict[str, msgspec.Raw]


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_created = msgspec.json.Decoder(_Created).decode


def error_event(body: bytes, before: bytes) -> bytes:
    """An error body in OpenAI's shape as the last event of a stream, behind the frame ``before``."""
    try:
        error = _decode_body(body).error
    except UNREADABLE:
        error = _Error(body.decode("utf-8", "replace"))
    return _event("error", before, code=error.code, message=error.message, param=error.param)


def failed_event(first: bytes, before: bytes, error: AntiphonError) -> bytes:
    """The event of a response that has failed, whose first frame and last one these were; empty where it was not written here."""
    found = _CREATED.search(first)
    if found is None or not _OURS.search(found[1]):
        return b""
    created = _decode_created(found[1]).response
    failed = of_refused(error) if isinstance(error, UpstreamRefused) else None
    status = failed.status if failed is not None else statuses.status_of(error)
    code = "rate_limit_exceeded" if status == 429 else "invalid_prompt" if status < 500 else "server_error"
    told = {"code": code, "message": failed.message if failed is not None else str(error)}
    return _event("response.failed", before, response={**created, "status": "failed", "error": told})


def _event(name: str, before: bytes, **told: Any) -> bytes:
    numbers = _NUMBER.findall(before)
    number = int(numbers[-1]) + 1 if numbers else 0
    return b"event: %b\ndata: %b\n\n" % (name.encode(), encode({"type": name, "sequence_number": number, **told}))
