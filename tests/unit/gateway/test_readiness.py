"""What /ready says of the processes beside a worker."""

import json
from typing import Any

import pytest

from antiphon.core.errors import AntiphonError, UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from antiphon.gateway.readiness import Readiness


class Part:
    """Answers like a pool whose server says always the same."""

    def __init__(self, said: int | AntiphonError) -> None:
        self._said = said

    def request(self, method: str, path: str, headers: Any, body: bytes, receiver: Any) -> None:
        if isinstance(self._said, AntiphonError):
            receiver.broken(self._said)
            return
        receiver.head(self._said, ())
        receiver.complete()


class Heard:
    def send(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.body = status, json.loads(body)


@pytest.mark.parametrize(
    ("said", "word", "status"),
    [
        (200, "ok", 200),
        (503, "starting", 503),
        (UpstreamTimeout(), "busy", 200),
        (UpstreamUnreachable(), "down", 503),
        (UpstreamBroken(), "down", 503),
    ],
    ids=["well", "loading", "in a long step", "not there", "broken"],
)
def test_a_part_that_computes_is_not_down(said: int | AntiphonError, word: str, status: int) -> None:
    heard = Heard()
    Readiness({"control": Part(200), "engine-small": Part(said)}, "1").ready(None, heard)  # type: ignore[dict-item]
    assert (heard.status, heard.body["parts"]) == (status, {"control": "ok", "engine-small": word})
