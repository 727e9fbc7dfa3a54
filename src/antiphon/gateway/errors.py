"""How a caller hears of an error: status, headers and body in the shape of its dialect, always with the request id."""

import math

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.core.types import Headers
from antiphon.execution.wire.endpoints import CALLERS
from antiphon.execution.wire.said_errors import is_object
from antiphon.transport.server import Responder

_JSON = (b"content-type", b"application/json")


def body_of(error: AntiphonError, request_id: str, dialect: str = "openai") -> tuple[int, bytes]:
    """Status and body. What a server wrote in this dialect goes through as it came, unless it was about our credentials."""
    caller = CALLERS[dialect]
    if not isinstance(error, UpstreamRefused):
        return caller.render_error(error, request_id)
    if error.dialect != dialect:
        return caller.render_refused(error, request_id)
    status, body = caller.render_error(error, request_id)
    if status != error.status or not is_object(error.body):
        return status, body
    return (status, error.body) if caller.words_error(error.body) else caller.render_refused(error, request_id)


def id_headers(request_id: str, dialect: str) -> Headers:
    """The id of a request, wherever the clients of a dialect look for it."""
    identity = request_id.encode("latin-1", "replace")
    own = CALLERS[dialect].id_header
    return ((b"x-request-id", identity), (own, identity)) if own else ((b"x-request-id", identity),)


def headers_of(error: AntiphonError, request_id: str, dialect: str = "openai") -> Headers:
    """Headers of an error's response; ``retry-after`` in whole seconds (RFC 9110, section 10.2.3)."""
    headers: Headers = (_JSON, *id_headers(request_id, dialect))
    if error.retry_after is not None:
        headers = (*headers, (b"retry-after", b"%d" % math.ceil(min(error.retry_after, 86400.0))))
    return headers


def refuse(responder: Responder, error: AntiphonError, request_id: str, dialect: str = "openai", also: Headers = ()) -> int:
    """Answer with an error, and say which status it was. ``also``: further headers."""
    status, body = body_of(error, request_id, dialect)
    responder.send(status, (*headers_of(error, request_id, dialect), *also), body)
    return status


def event_of(error: AntiphonError, request_id: str, dialect: str = "openai", before: bytes = b"") -> bytes:
    """An error inside a stream, as an event that nothing follows, neither ``[DONE]`` nor ``message_stop``.

    ``before`` is the frame that went before.
    """
    body = body_of(error, request_id, dialect)[1]
    return CALLERS[dialect].error_event(body.replace(b"\r", b" ").replace(b"\n", b" "), before)
