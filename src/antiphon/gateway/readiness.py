"""GET /health: this process serves. GET /ready: everything that the configuration asks for serves."""

from collections.abc import Callable, Collection, Mapping

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamTimeout
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool
from antiphon.transport.server import Request, Responder

_JSON = ((b"content-type", b"application/json"),)
_encode = msgspec.json.Encoder().encode
SERVING = ("ok", "busy")
"""What a part says that takes calls."""


class Health(msgspec.Struct, frozen=True):
    """Answer of /health."""

    status: str
    version: str


class Ready(msgspec.Struct, frozen=True):
    """Answer of /ready: 200 and ``ready`` when every part is ``ok`` or ``busy``, else 503 and ``not_ready``."""

    status: str
    parts: dict[str, str]


class Readiness:
    """Asks the processes beside this one over their Unix sockets."""

    def __init__(self, parts: Mapping[str, ClientPool], version: str) -> None:
        self._parts = dict(parts)
        self._health = _encode(Health("ok", version))

    def health(self, request: Request, responder: Responder) -> None:
        """GET /health, answered at once."""
        responder.send(200, _JSON, self._health)

    def ready(self, request: Request, responder: Responder) -> None:
        """GET /ready."""

        def told(said: Mapping[str, str]) -> None:
            ready = all(word in SERVING for word in said.values())
            body = _encode(Ready("ready" if ready else "not_ready", dict(sorted(said.items()))))
            responder.send(200 if ready else 503, _JSON, body)

        self.ask(self._parts, told)

    def ask(self, names: Collection[str], told: Callable[[Mapping[str, str]], None]) -> None:
        """Tell what these parts say of themselves, once the last has answered or failed to."""
        round_ = _Round(told, len(names))
        if not names:
            round_.told("", "")
        for name in names:
            self._parts[name].request("GET", "/health", (), b"", _Probe(round_, name))


class _Round:
    """Gathers what the parts say."""

    def __init__(self, done: Callable[[Mapping[str, str]], None], missing: int) -> None:
        self._done = done
        self._missing = missing
        self._said: dict[str, str] = {}

    def told(self, name: str, said: str) -> None:
        if name:
            self._said[name] = said
            self._missing -= 1
        if self._missing == 0:
            self._done(self._said)


class _Probe:
    """Receives one part's answer."""

    def __init__(self, round_: _Round, name: str) -> None:
        self._round = round_
        self._name = name
        self._status = 0

    def head(self, status: int, headers: Headers) -> None:
        self._status = status

    def data(self, chunk: bytes) -> None: ...

    def complete(self) -> None:
        self._round.told(self._name, "ok" if self._status == 200 else "starting")

    def broken(self, error: AntiphonError) -> None:
        """One that took the question and is late computes, as an engine does in a long step; a hung one is restarted, and down."""
        self._round.told(self._name, "busy" if isinstance(error, UpstreamTimeout) else "down")
