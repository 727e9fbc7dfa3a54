"""Errors of OpenAI's API, as its guide to error codes shows them."""

from typing import Any

from antiphon.testing.fidelity.case import Scene
from antiphon.testing.steps import Body, Header, Status


def refusal(
    status: int,
    words: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
    retry_after: str = "",
) -> Scene:
    """An error object under a status."""
    wait = (Header("retry-after", retry_after),) if retry_after else ()
    return Scene((Status(status), *wait, Body(told(words, kind=kind, param=param, code=code))))


def told(words: str, *, kind: str = "server_error", param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error object."""
    return {"error": {"message": words, "type": kind, "param": param, "code": code}}


def page(status: int, html: str) -> Scene:
    """A page for people, as proxies in front of a model's server send it."""
    return Scene((Status(status), Header("content-type", "text/html"), Body(html)))
