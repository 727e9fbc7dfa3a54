"""The model's server of all cases: it knows by the mark in a request which case is played, and plays it."""

import email.utils
import re
import secrets
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import msgspec

from antiphon.core.errors import ConfigError
from antiphon.testing.answers import refuse
from antiphon.testing.fidelity.case import MARK, MODEL, Act, Case, IfUsageAsked, RetryOn, Scene, Until
from antiphon.testing.mock_upstream import MockUpstream
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Gate, Header, Script, Step

_MARKS = re.compile(rb"\[\[fidelity:[a-z0-9-]+:([0-9a-f]+)\]\]")
NATIVE = "/v1/responses"
"""Where a gateway asks that passes responses on."""


class Play:
    """One case being played, once: its own mark, what the server was asked, and where it waits for the caller."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.number = secrets.token_hex(6)
        self.asked: list[RecordedRequest] = []
        self.held_back = False
        self._was_asked = threading.Event()
        self._gates = {act.text.encode(): Gate() for act in case.scene.acts if isinstance(act, Until)}

    @property
    def mark(self) -> bytes:
        """What stands in its request in place of ``MARK``."""
        return f"[[fidelity:{self.case.id}:{self.number}]]".encode()

    def note(self, request: RecordedRequest) -> None:
        """The server was asked."""
        self.asked.append(request)
        self._was_asked.set()

    def wait_asked(self, within: float) -> bool:
        """Whether the server is asked within so many seconds. It blocks."""
        return self._was_asked.wait(within)

    @property
    def waits(self) -> bool:
        """The server waits, or will wait, until the caller has something."""
        return not all(gate.is_open for gate in self._gates.values())

    def body(self, model: str) -> bytes:
        """The request's body for the model of this name."""
        body = self.case.body
        raw = body if isinstance(body, bytes) else msgspec.json.encode({"model": model, **body})
        return raw.replace(MODEL.encode(), model.encode()).replace(MARK.encode(), self.mark)

    def seen(self, answer: bytes | bytearray) -> None:
        """The caller has so much of the answer."""
        for text, gate in self._gates.items():
            if not gate.is_open and text in answer:
                gate.open()

    def release(self) -> None:
        """Let the server go on whatever the caller has."""
        for gate in self._gates.values():
            gate.open()

    def give_up(self) -> None:
        """The caller should have had long since what the server waits for."""
        self.held_back = self.held_back or self.waits
        self.release()

    def script(self, request: RecordedRequest) -> Script | None:
        """What the server does at this request; None where it is asked at another path than that of the case."""
        case = self.case
        scene = case.scene if request.path == case.route.server_path else case.native if request.path == NATIVE else None
        return None if scene is None else Script(tuple(self._steps(scene, request)), scene.wire)

    def _steps(self, scene: Scene, request: RecordedRequest) -> Iterator[Step]:
        for act in scene.acts:
            if step := self._step(act, request):
                yield step

    def _step(self, act: Act, request: RecordedRequest) -> Step | None:
        match act:
            case Until():
                return self._gates[act.text.encode()]
            case IfUsageAsked():
                return act.step if _asks_usage(request) else None
            case RetryOn():
                date = datetime.now(UTC) + timedelta(seconds=act.seconds)
                return Header("retry-after", email.utils.format_datetime(date, usegmt=True))
        return act

    def sent(self) -> tuple[bytes, ...]:
        """The bodies that the server was sent, with the mark as it stands in the case."""
        return tuple(request.body.replace(self.mark, MARK.encode()) for request in self.asked)


def _asks_usage(request: RecordedRequest) -> bool:
    try:
        body: Any = request.json
    except msgspec.DecodeError:
        return False
    options = body.get("stream_options") if isinstance(body, dict) else None
    return isinstance(options, dict) and options.get("include_usage") is True


class Stage:
    """A scripted server on a port of this machine that speaks OpenAI's and Anthropic's protocols. Use it with ``with``."""

    def __init__(self, port: int = 0, models: tuple[str, ...] = ()) -> None:
        self._upstream = MockUpstream(port=port, models=models)
        self._upstream.script(self._answer, times=None)
        self._plays: dict[bytes, Play] = {}

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._upstream.port

    def open(self, case: Case) -> Play:
        """Be ready to play a case. Close it afterwards."""
        play = Play(case)
        self._plays[play.number.encode()] = play
        return play

    def close(self, play: Play) -> None:
        """Forget a case: whoever asks for it still is answered with an error."""
        play.release()
        self._plays.pop(play.number.encode(), None)

    def __enter__(self) -> Self:
        try:
            self._upstream.start()
        except OSError as error:
            raise ConfigError(
                f"the port {self._upstream.port} for the scripted server cannot be had: {error.strerror}",
                remedy="end what holds it, or name another one with --mock-port, and in the gateway's configuration",
                key="mock_port",
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._upstream.stop()

    def _answer(self, request: RecordedRequest) -> Script:
        marks = _MARKS.findall(request.body)
        play = self._plays.get(marks[-1]) if marks else None
        if play is None:
            return Script(refuse(400, "this request holds the mark of no case that is being played", "no_case"))
        script = play.script(request)
        if script is None:
            words = f"this case is played at {play.case.route.server_path}, not at {request.path}"
            return Script(refuse(404, words, "unknown_url"))
        play.note(request)
        return script


def seconds_to_close(asked: list[RecordedRequest], left_at: float, within: float) -> float | None:
    """Seconds from ``left_at`` until the client of all these requests had gone; None where one stays for ``within`` seconds.

    An answer that had been written whole by then needed nobody to go. It blocks.
    """
    last = left_at
    for request in asked:
        if request.answered_at is not None:
            continue
        if not request.wait_closed(max(0.0, left_at + within - time.monotonic())):
            return None
        last = max(last, request.closed_at or 0.0)
    return last - left_at
