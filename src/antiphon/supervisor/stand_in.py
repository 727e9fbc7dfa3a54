"""Stands in for workers that are not there: callers are told so at once, instead of waiting or being cut off."""

import logging
import uuid
from collections.abc import Iterable
from socket import socket

from antiphon.config.network import listening_tls
from antiphon.config.settings import ServerSettings
from antiphon.core.errors import CapacityError, ConfigError
from antiphon.execution.wire.openai import errors as openai_errors
from antiphon.transport.turning_away import TurningAway

log = logging.getLogger(__name__)


def stand_in(sockets: Iterable[socket], settings: ServerSettings, error: CapacityError) -> TurningAway:
    """Answer 503 with this error on public sockets, until closed.

    While workers accept as well, a caller may reach either. Where the certificate of HTTPS cannot be read any more, connections are
    closed at once, and the log says so.
    """
    try:
        return TurningAway(sockets, lambda: _response(error), listening_tls(settings))
    except ConfigError as failure:
        log.warning("callers that no worker accepts are cut off without an answer: %s", failure)
        return TurningAway(sockets, None)


def _response(error: CapacityError) -> bytes:
    identity = f"req_{uuid.uuid4().hex}"
    status, body = openai_errors.render(error, identity)
    head = (
        f"HTTP/1.1 {status} Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"x-request-id: {identity}\r\nretry-after: {error.retry_after or 1:.0f}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
