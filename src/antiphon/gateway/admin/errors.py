"""Errors of the control plane, in OpenAI's shape like those of all other endpoints."""

import uuid
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from antiphon.core.errors import AntiphonError, EndpointNotFound, InternalError, InvalidRequest, MethodNotAllowed
from antiphon.execution.wire.openai import errors as openai_errors


def _answer(request: Request, error: AntiphonError, headers: Mapping[str, str] | None = None) -> Response:
    identity = request.headers.get("x-request-id") or f"req_{uuid.uuid4().hex}"
    status, body = openai_errors.render(error, identity)
    return Response(body, status, {**(headers or {}), "x-request-id": identity}, "application/json")


def _http_error(request: Request, exception: Exception) -> Response:
    assert isinstance(exception, HTTPException)
    place = f'"{request.url.path[:200]}"'
    if exception.status_code == 404:
        return _answer(request, EndpointNotFound(f"there is no endpoint {place}", remedy="GET /docs lists the endpoints"))
    if exception.status_code == 405:
        allowed = (exception.headers or {}).get("Allow", "GET")
        return _answer(
            request, MethodNotAllowed(f"{place} does not take {request.method}", remedy=f"use {allowed}"), exception.headers
        )
    return _answer(request, InvalidRequest(exception.detail, remedy="GET /docs tells what it takes"), exception.headers)


def _known_error(request: Request, exception: Exception) -> Response:
    assert isinstance(exception, AntiphonError)
    return _answer(request, exception)


def _unknown_error(request: Request, _exception: Exception) -> Response:
    return _answer(request, InternalError())


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    HTTPException: _http_error,
    AntiphonError: _known_error,
    Exception: _unknown_error,
}
"""By the kind of exception. What is unknown is logged, with its traceback, by the server."""
