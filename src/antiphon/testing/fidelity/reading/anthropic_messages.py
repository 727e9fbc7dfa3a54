"""Answers of Anthropic's messages, streamed or in one piece; a stream is held to the order of events that is documented."""

from typing import Any

import msgspec

from antiphon.testing.fidelity.outcome import Outcome, decoded, miss, shown
from antiphon.testing.fidelity.reading.events import events, shaped, succeeded, told, without_error
from antiphon.testing.fidelity.reading.reply import Called, Reply, Spoken, Thought


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Message(msgspec.Struct):
    id: str
    type: str
    role: str
    content: list[_Block]
    usage: dict[str, Any]
    model: str
    stop_reason: str | None = None
    stop_sequence: str | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class _Event(msgspec.Struct):
    type: str
    index: int | None = None
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: dict[str, Any] | None = None


def read(outcome: Outcome) -> Reply:
    """The answer. Raises Miss where it is none, or its events are not in order."""
    body = succeeded(outcome)
    if not outcome.streamed:
        return _whole(decoded(body, "the answer"))
    for event in events(body):
        kind = decoded(event.data.encode(), "an event").get("type")
        if event.event != kind:
            miss(f'an event is named "{event.event}" and is of type "{kind}"')
    stream = _Stream(without_error(told(body)))
    stream.take_all()
    return stream.reply


def so_far(body: bytes) -> Reply:
    """What a stream told, whether it came to an end or not."""
    stream = _Stream([value for value in told(body) if value.get("type") != "error"])
    stream.take_some()
    return stream.reply


def _whole(value: Any) -> Reply:
    message = shaped(value, _Message, "the answer")
    reply = Reply(objects=[value], usage=[message.usage])
    spoken = reply.choice(0)
    spoken.raw = value
    spoken.finish, spoken.stop = message.stop_reason, message.stop_sequence
    for block in message.content:
        _add_block(block, spoken)
        if block.type == "tool_use":
            spoken.calls[-1].arguments = msgspec.json.encode(block.input).decode()
    return reply


def _add_block(block: _Block, spoken: Spoken) -> None:
    match block.type:
        case "text":
            spoken.text += block.text or ""
        case "thinking":
            spoken.thoughts.append(Thought(block.thinking or "", block.signature or ""))
        case "redacted_thinking":
            spoken.thoughts.append(Thought(data=block.data or ""))
        case "tool_use":
            spoken.calls.append(Called(block.name or "", block.id or "", type="tool_use"))


class _Stream:
    """Puts a stream together, and looks whether each event may come where it comes."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.reply = Reply(objects=objects)
        self._spoken = self.reply.choice(0)
        self._open: _Block | None = None
        self._blocks = 0
        self._state = "begin"

    def take_all(self) -> None:
        """The whole stream. Raises Miss where it is not in order, or does not end."""
        self.take_some()
        if self._state != "stopped":
            miss(f"the stream ends without message_stop, {self._state}")

    def take_some(self) -> None:
        """What there is of it."""
        for value in self.reply.objects:
            self._take(shaped(value, _Event, "an event"))

    def _take(self, event: _Event) -> None:
        if event.type == "ping":
            return
        if event.type == "message_start":
            self._expect("begin", event)
            if event.message is None:
                miss("message_start has no message")
            self.reply.usage.append(event.message.usage)
            self._state = "between blocks"
        elif event.type == "content_block_start":
            self._start(event)
        elif event.type == "content_block_delta":
            self._add(event)
        elif event.type == "content_block_stop":
            self._stop(event)
        elif event.type == "message_delta":
            self._finish(event)
        elif event.type == "message_stop":
            self._expect("finished", event)
            self._state = "stopped"

    def _start(self, event: _Event) -> None:
        self._expect("between blocks", event)
        if event.index != self._blocks or event.content_block is None:
            miss(f"the block number {self._blocks} begins with index {event.index}: {shown(self.reply.objects)}")
        self._blocks += 1
        self._open, self._state = event.content_block, "in a block"
        _add_block(event.content_block, self._spoken)

    def _add(self, event: _Event) -> None:
        self._expect("in a block", event)
        block, delta, spoken = self._open, event.delta, self._spoken
        if event.index != self._blocks - 1 or delta is None or block is None:
            miss(f"a delta is for block {event.index} while block {self._blocks - 1} is open")
        wanted = {
            "text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use",
        }.get(delta.type, block.type)  # fmt: skip
        if wanted != block.type:
            miss(f"a {delta.type} comes in a block of type {block.type}")
        match delta.type:
            case "text_delta":
                spoken.text += delta.text or ""
            case "thinking_delta":
                spoken.thoughts[-1].text += delta.thinking or ""
            case "signature_delta":
                spoken.thoughts[-1].signature += delta.signature or ""
            case "input_json_delta":
                spoken.calls[-1].arguments += delta.partial_json or ""

    def _stop(self, event: _Event) -> None:
        self._expect("in a block", event)
        block, self._open, self._state = self._open, None, "between blocks"
        if block is not None and block.type == "tool_use" and not self._spoken.calls[-1].arguments:
            self._spoken.calls[-1].arguments = msgspec.json.encode(block.input or {}).decode()

    def _finish(self, event: _Event) -> None:
        if self._state != "finished":  # a second one may follow
            self._expect("between blocks", event)
        self._state = "finished"
        if event.usage is not None:
            self.reply.usage.append(event.usage)
        if event.delta is not None:
            self._spoken.finish = event.delta.stop_reason or self._spoken.finish
            self._spoken.stop = event.delta.stop_sequence or self._spoken.stop

    def _expect(self, state: str, event: _Event) -> None:
        if self._state != state:
            miss(f"the event {event.type} comes where it must not ({self._state})")
