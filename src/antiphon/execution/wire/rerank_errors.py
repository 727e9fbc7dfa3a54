"""Errors for callers who ask for a ranking: Cohere's clients read ``message``, Jina's read ``detail``, and both are told."""

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.execution.wire.said_errors import of_refused
from antiphon.execution.wire.statuses import status_of


class _Error(msgspec.Struct):
    message: str
    detail: str
    code: str
    param: str | None
    remedy: str
    id: str
    """Of the request."""


_encode = msgspec.json.Encoder().encode


def render_error(error: AntiphonError, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body. Of what another dialect's server refused, its own words are kept."""
    told = of_refused(error).message if isinstance(error, UpstreamRefused) else str(error)
    return status_of(error), _encode(_Error(told, told, error.code, error.param, error.remedy, request_id))
