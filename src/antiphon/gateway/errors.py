"""How a caller hears of an error: status, headers and body in the shape of its dialect, always with the request id."""

import math

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.core.types import Headers
from antiphon.execution.wire import openai_errors
from antiphon.transport.server import Responder

_JSON = (b"content-type", b"application/json")


def body_of(error: AntiphonError, request_id: str) -> tuple[int, bytes]:
    """Status and body. A body of the same dialect goes through as it came, unless it was about our credentials."""
    status, body = openai_errors.render(error, request_id)
    if isinstance(error, UpstreamRefused) and status == error.status and error.body.lstrip()[:1] == b"{":
        return status, error.body
    return status, body


def headers_of(error: AntiphonError, request_id: str) -> Headers:
    """Headers of an error's response; ``retry-after`` in whole seconds (RFC 9110, section 10.2.3)."""
    headers: Headers = (_JSON, (b"x-request-id", request_id.encode("latin-1", "replace")))
    if error.retry_after is not None:
        headers = (*headers, (b"retry-after", b"%d" % math.ceil(min(error.retry_after, 86400.0))))
    return headers


def refuse(responder: Responder, error: AntiphonError, request_id: str) -> int:
    """Answer with an error, and say which status it was."""
    status, body = body_of(error, request_id)
    responder.send(status, headers_of(error, request_id), body)
    return status


def event_of(error: AntiphonError, request_id: str) -> bytes:
    """An error inside a stream, as an event; no ``[DONE]`` follows it."""
    body = body_of(error, request_id)[1]
    return b"data: " + body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n"
