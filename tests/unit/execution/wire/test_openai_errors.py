"""Errors as OpenAI's clients know them."""

import json

import pytest

from antiphon.core import errors
from antiphon.execution.wire.openai.errors import render
from antiphon.execution.wire.statuses import status_of


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (errors.InvalidRequest("x", param="messages[0]"), 400, "invalid_request_error"),
        (errors.ContextOverflow(), 400, "invalid_request_error"),
        (errors.Unauthenticated(), 401, "authentication_error"),
        (errors.ModelNotFound(), 404, "invalid_request_error"),
        (errors.PayloadTooLarge(), 413, "invalid_request_error"),
        (errors.QueueFull(), 429, "rate_limit_error"),
        (errors.Draining(), 503, "server_error"),
        (errors.UpstreamUnreachable(), 502, "server_error"),
        (errors.UpstreamTimeout(), 504, "server_error"),
        (errors.InternalError(), 500, "server_error"),
        (errors.NoMemory(), 500, "server_error"),
    ],
)
def test_each_kind_has_its_status(error: errors.AntiphonError, status: int, kind: str) -> None:
    found, body = render(error, "req_1")
    decoded = json.loads(body)
    assert found == status
    assert decoded["error"]["type"] == kind
    assert decoded["error"]["code"] == error.code
    assert decoded["error"]["param"] == error.param
    assert decoded["request_id"] == "req_1"


def test_message_and_remedy_are_both_told() -> None:
    body = json.loads(render(errors.InvalidRequest("broken", remedy="mend it"), "r")[1])
    assert (body["error"]["message"], body["error"]["remedy"]) == ("broken; mend it", "mend it")


@pytest.mark.parametrize(("theirs", "ours"), [(400, 400), (429, 429), (503, 503), (401, 502), (403, 502)])
def test_what_a_server_refused(theirs: int, ours: int) -> None:
    assert status_of(errors.UpstreamRefused(theirs, b"{}")) == ours
