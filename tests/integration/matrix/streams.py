"""Streams of every dialect from servers of every framing: how each is asked for, played and read."""

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing import Body, Done, Event, Header, Step
from antiphon.testing.matrix.callers import CALLERS, Caller
from antiphon.testing.matrix.cells import player_of
from antiphon.testing.matrix.telling import Answer, Ask
from antiphon.testing.steps import payload
from antiphon.transport import sse

FRAMINGS: Final = ("openai", "anthropic", "gemini", "ollama", "dashscope", "bedrock")
"""Protocols, one for each way in which servers cut their streams into events."""

STEP: Final = 10_000
"""Bytes of a stream that are written in one go, at least."""


class Streamed(msgspec.Struct, frozen=True):
    """Callers of one endpoint, before a server of one protocol."""

    endpoint: str
    protocol: str
    body: bytes
    read: Callable[[bytes], str]
    """The text in a whole stream. Raises AssertionError where it is not complete."""
    play: Callable[[tuple[str, ...]], Sequence[Step]]
    """The server's stream of these texts, an event for each; as many of them go into one step as make ``STEP`` bytes."""

    def __str__(self) -> str:
        return f"{self.endpoint}-{self.protocol}"

    @property
    def request(self) -> bytes:
        """The request as it goes over the wire."""
        path = ENDPOINTS[self.endpoint].path.encode()
        head = b"POST %b HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n" % path
        return head + b"content-length: %d\r\n\r\n%b" % (len(self.body), self.body)


def streamed() -> list[Streamed]:
    """Every endpoint that streams text, before servers of every framing that can answer it."""
    chats = [_chat(CALLERS.load(dialect), protocol) for dialect in CALLERS.names() for protocol in FRAMINGS]
    return [*chats, _completion(), *map(_generation, FRAMINGS)]


def _chat(caller: Caller, protocol: str) -> Streamed:
    asked = caller.request(Ask(), stream=True)
    assert asked is not None

    def read(body: bytes) -> str:
        heard = caller.heard_stream(body)
        assert isinstance(heard, Answer), heard
        assert heard.finish == "stop"
        return "".join(heard.texts)

    return Streamed(caller.endpoint, protocol, _body(asked, protocol), read, lambda texts: _played(protocol, texts))


def _completion() -> Streamed:
    @functools.cache
    def play(texts: tuple[str, ...]) -> Sequence[Step]:
        pieces = [Event({"choices": [{"index": 0, "text": text, "finish_reason": None}]}) for text in texts]
        end = Event({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
        return _gathered([Header("content-type", "text/event-stream"), *pieces, end, Done()])

    def read(body: bytes) -> str:
        *told, done = [event.data for event in sse.parse(body)]
        choices = [json.loads(data)["choices"][0] for data in told]
        assert done == "[DONE]"
        assert choices[-1]["finish_reason"] == "stop"
        return "".join(choice["text"] for choice in choices)

    return Streamed("completions", "openai", _body({"prompt": "hello", "stream": True}, "openai"), read, play)


def _generation(protocol: str) -> Streamed:
    @functools.cache
    def play(texts: tuple[str, ...]) -> Sequence[Step]:
        if protocol != "ollama":
            return _played(protocol, texts)
        lines = [{"model": "mock-model", "response": text, "done": False} for text in texts]
        end = {"model": "mock-model", "response": "", "done": True, "done_reason": "stop"}
        return _gathered(
            [Header("content-type", "application/x-ndjson"), *(Body(json.dumps(line) + "\n") for line in (*lines, end))]
        )

    def read(body: bytes) -> str:
        lines = [json.loads(line) for line in body.splitlines()]
        assert [line["done"] for line in lines] == [*[False] * (len(lines) - 1), True]
        assert lines[-1]["done_reason"] == "stop"
        return "".join(line["response"] for line in lines)

    return Streamed("api/generate", protocol, _body({"prompt": "hello"}, protocol), read, play)


@functools.cache
def _played(protocol: str, texts: tuple[str, ...]) -> Sequence[Step]:
    steps = player_of(protocol).stream(Answer(texts=texts))
    assert steps is not None
    return _gathered(steps)


def _gathered(steps: Sequence[Step]) -> Sequence[Step]:
    """The same stream in fewer steps, because a hundred thousand take long to play."""
    gathered: list[Step] = []
    data = b""
    for step in steps:
        if isinstance(step, Body | Event | Done):
            data += payload(step)
            if len(data) >= STEP:
                gathered.append(Body(data))
                data = b""
        else:
            gathered.append(step)
    return [*gathered, Body(data)]


def _body(asked: dict[str, Any], protocol: str) -> bytes:
    return msgspec.json.encode({**asked, "model": protocol})
