"""Very many tiny pieces: each costs the same, whatever came before it. What cost more for each piece would take minutes here."""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.bedrock.frames import FrameSplitter
from antiphon.execution.wire.chat import ChatRequest, Message, Text
from antiphon.execution.wire.dialect import Splitter
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.openai.answer_reader import AnswerReader
from antiphon.execution.wire.openai.mending import Mender
from antiphon.testing.matrix.players.bedrock import frame
from antiphon.transport.lines import LineSplitter
from antiphon.transport.sse import EventSplitter

MANY = 100_000
LINEAR = 30.0
"""Seconds of this process's time: many times what it takes, and far below what it would take if each piece looked at all others."""

CHATS = [name for name, endpoint in ENDPOINTS.items() if endpoint.chat is not None]


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < LINEAR


def write(endpoint: str, events: list[neutral.Event]) -> str:
    """What a caller reads, written event by event."""
    inbound = ENDPOINTS[endpoint].chat
    assert inbound is not None
    request = ChatRequest(dialect="openai", model="m", messages=(Message("user", (Text("hello"),)),), stream=True)
    writer = inbound.writer(request, "r1")
    return b"".join(writer.write([event]) for event in [neutral.Began(), *events, neutral.Ended()]).decode()


def mixed(complete: str) -> list[neutral.Event]:
    """Two calls, the pieces of which come in turns; the first begins with an open object and ends in ``complete``."""
    events: list[neutral.Event] = [neutral.ToolCallBegan(0, call, f"id{call}", f"f{call}") for call in range(2)]
    events += [neutral.ToolArguments(0, call, '{"a":"') for call in range(2)]
    events += [neutral.ToolArguments(0, at % 2, "x") for at in range(MANY)]
    return [*events, neutral.ToolArguments(0, 0, complete), neutral.ToolArguments(0, 1, '"}')]


@pytest.mark.parametrize("endpoint", CHATS)
def test_calls_whose_pieces_are_mixed(endpoint: str) -> None:
    told = write(endpoint, [*mixed('"}'), neutral.Finished(0, "tool_calls")])
    assert told.count("x") >= MANY


@pytest.mark.parametrize("endpoint", CHATS)
def test_a_call_that_is_never_complete(endpoint: str) -> None:
    told = write(endpoint, [*mixed(""), neutral.TextDelta(0, "So much."), neutral.Finished(0, "length")])
    assert "So much." in told
    assert told.count("x") >= MANY / 2


@pytest.mark.parametrize("endpoint", CHATS)
def test_words_behind_a_call_that_is_never_complete(endpoint: str) -> None:
    begun: list[neutral.Event] = [neutral.ToolCallBegan(0, 0, "id", "f"), neutral.ToolArguments(0, 0, "{")]
    words = [neutral.TextDelta(0, "w") for _ in range(MANY)]
    assert write(endpoint, [*begun, *words, neutral.Finished(0, "length")]).count('"w"') >= MANY


def named_pieces() -> Iterator[bytes]:
    """A call whose every piece repeats its name, and has no id."""
    for piece in ('{"a":"', *["x"] * MANY, '"}'):
        call = {"index": 0, "function": {"name": "f", "arguments": piece}}
        yield b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode()


def test_a_call_that_is_named_in_every_piece_is_read() -> None:
    reader = AnswerReader()
    events = [event for piece in named_pieces() for event in reader.feed(piece)]
    assert len([event for event in events if isinstance(event, neutral.ToolCallBegan)]) == 1
    text = "".join(event.text for event in events if isinstance(event, neutral.ToolArguments))
    assert json.loads(text) == {"a": "x" * MANY}


def test_a_call_that_is_named_in_every_piece_goes_through() -> None:
    mender = Mender(wants_usage=False)
    assert b"".join(mender.mended(piece) for piece in named_pieces()).count(b'"x"') == MANY


@pytest.mark.parametrize(
    ("splitter", "whole"),
    [
        (EventSplitter, b"data: " + b"x" * 3 * MANY + b"\n\n"),
        (EventSplitter, b"data: " + b"x" * 3 * MANY + b"\r\n\r\n"),
        (LineSplitter, b"x" * 3 * MANY + b"\n"),
        (FrameSplitter, frame("messageStart", b"x" * 3 * MANY)),
    ],
    ids=["events", "events with CRLF", "lines", "frames"],
)
def test_one_large_event_that_comes_byte_by_byte(splitter: Callable[[], Splitter], whole: bytes) -> None:
    reading = splitter()
    pieces = [reading.feed(whole[at : at + 1]) for at in range(len(whole))]
    assert not any(pieces[:-2])
    assert b"".join(pieces) + reading.rest() == whole
