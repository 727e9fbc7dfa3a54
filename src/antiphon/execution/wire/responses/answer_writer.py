"""Events that belong to no vendor, written as a response of OpenAI's Responses endpoint.

Items may be open beside each other, so calls of tools whose pieces a server mixes go out as they come. Log-probabilities of calls
and thoughts have no place here.
"""

from collections.abc import Iterable
from typing import Any

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.arguments import Arguments
from antiphon.execution.wire.chat import ChatRequest
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.responses import ids, output, thoughts
from antiphon.execution.wire.responses.output import Json, ResponseObject
from antiphon.execution.wire.signatures import at_thoughts, of_call


class AnswerWriter:
    """Writes one streamed answer. One that breaks off is ended by whoever sees it break (``errors``)."""

    def __init__(self, request: ChatRequest) -> None:
        self._response = ResponseObject(request)
        self._number = -1
        self._began = False
        self._items: list[_Message | _Thought | _Call] = []
        self._calls: dict[int, _Call] = {}
        self._finish: neutral.Finished | None = None
        self._counted: neutral.Counted | None = None
        self._said = 0
        """Characters of text so far."""

    def write(self, events: Iterable[Event]) -> bytes:
        """The server-sent events for these."""
        pieces: list[bytes] = []
        words: neutral.TextDelta | None = None
        for event in events:
            tokens = output.tokens_of(event) if isinstance(event, neutral.LogProbs) and event.index == 0 else []
            if words is not None:  # its log-probabilities come right behind it
                pieces += self._say("output_text", words.text, tokens)
                words, tokens = None, []
            if isinstance(event, neutral.TextDelta):
                words = event if event.index == 0 else None  # more than one choice cannot be asked for in this dialect
            elif tokens:
                self._recount(tokens)
            else:
                pieces += self._take(event)
        pieces += self._say("output_text", words.text, []) if words is not None else []
        return b"".join(pieces)

    def _take(self, event: Event) -> list[bytes]:
        match event:
            case neutral.Began():
                return self._begin(event)
            case neutral.Counted():
                self._counted = event
            case neutral.Ended():
                return self._end()
            case neutral.Finished(index=0):
                self._finish = event
            case neutral.RefusalDelta(index=0):
                return self._say("refusal", event.text, [])
            case neutral.ThinkingDelta(index=0) | neutral.ThinkingSignature(index=0) | neutral.RedactedThought(index=0):
                return self._think(event)
            case neutral.ToolCallBegan(index=0):
                return self._call(event)
            case neutral.Cited(index=0):
                return self._cite(event)
            case neutral.ToolArguments(index=0) if event.text and event.call in self._calls:
                return self._argue(self._calls[event.call], event.text)
        return []

    def _begin(self, event: neutral.Began) -> list[bytes]:
        if self._began:
            return []
        self._began = True
        self._response.created = event.created or self._response.created
        response = self._response.at_first()
        return [self._event(name, {"response": response}) for name in ("response.created", "response.in_progress")]

    # -- what is said

    def _say(self, kind: str, text: str, tokens: list[Json]) -> list[bytes]:
        if not text:
            return []
        message, pieces = self._message()
        if not message.parts or message.parts[-1].kind != kind:
            pieces += self._close_part(message)
            message.parts.append(_Words(kind, self._said))
            pieces.append(self._of_part("response.content_part.added", message, part=message.parts[-1].whole()))
        part = message.parts[-1]
        part.texts.append(text)
        if kind == "refusal":
            pieces.append(self._of_part("response.refusal.delta", message, delta=text))
            return pieces
        self._said += len(text)
        part.tokens += tokens
        pieces.append(self._of_part("response.output_text.delta", message, delta=text, logprobs=tokens))
        return pieces

    def _message(self) -> tuple["_Message", list[bytes]]:
        """The message that is open, and what opens one where none is."""
        last = self._items[-1] if self._items else None
        if isinstance(last, _Message) and last.open:
            return last, []
        message = _Message(ids.of_output("msg", self._response.id, len(self._items)), len(self._items))
        return message, self._opened(message)

    def _recount(self, tokens: list[Json]) -> None:
        """Log-probabilities that came behind their words: they are told when these end."""
        last = self._items[-1] if self._items else None
        if isinstance(last, _Message) and last.open and last.parts and last.parts[-1].kind == "output_text":
            last.parts[-1].tokens += tokens

    def _cite(self, cited: neutral.Cited) -> list[bytes]:
        """Say whose a stretch is. Of words that have ended, only the whole response tells it."""
        words = [
            (item, place, part)
            for item in self._items
            if isinstance(item, _Message)
            for place, part in enumerate(item.parts)
            if part.kind == "output_text" and part.start <= cited.start
        ]
        if not words:
            return []
        message, place, part = words[-1]
        part.annotations.append(output.annotation(cited, part.start))
        if not message.open or place < len(message.parts) - 1:
            return []
        number, told = len(part.annotations) - 1, part.annotations[-1]
        return [self._of_part("response.output_text.annotation.added", message, annotation_index=number, annotation=told)]

    def _close_part(self, message: "_Message") -> list[bytes]:
        if not message.parts:
            return []
        part = message.parts[-1]
        text = part.text
        done = (
            self._of_part("response.output_text.done", message, text=text, logprobs=part.tokens)
            if part.kind == "output_text"
            else self._of_part("response.refusal.done", message, refusal=text)
        )
        return [done, self._of_part("response.content_part.done", message, part=part.whole())]

    def _of_part(self, name: str, message: "_Message", **told: Any) -> bytes:
        place = {"item_id": message.id, "output_index": message.index, "content_index": len(message.parts) - 1}
        return self._event(name, {**place, **told})

    # -- what is thought

    def _think(self, event: neutral.ThinkingDelta | neutral.ThinkingSignature | neutral.RedactedThought) -> list[bytes]:
        last = self._items[-1] if self._items else None
        pieces: list[bytes] = []
        if isinstance(last, _Thought) and last.open and not isinstance(event, neutral.RedactedThought):
            thought = last
        else:
            identity = ids.of_output("rs", self._response.id, len(self._items))
            thought = _Thought(identity, len(self._items), summarised=self._response.summarised)
            pieces = self._opened(thought)
        match event:
            case neutral.ThinkingDelta():
                return [*pieces, *self._show(thought, event.text)]
            case neutral.ThinkingSignature():
                thought.packed = thoughts.pack(chat.Thinking("".join(thought.texts), event.signature))
            case neutral.RedactedThought():
                thought.packed = thoughts.pack(chat.RedactedThinking(event.data))
        return [*pieces, *self._close(thought, "completed")]

    def _show(self, thought: "_Thought", text: str) -> list[bytes]:
        if not text:
            return []
        first = not thought.texts
        thought.texts.append(text)
        if thought.summarised:
            part = {"summary_index": 0, "part": {"type": "summary_text", "text": ""}}
            opening = [self._of_item("response.reasoning_summary_part.added", thought, **part)] if first else []
            return [*opening, self._of_item("response.reasoning_summary_text.delta", thought, summary_index=0, delta=text)]
        part = {"content_index": 0, "part": {"type": "reasoning_text", "text": ""}}
        opening = [self._of_item("response.content_part.added", thought, **part)] if first else []
        return [*opening, self._of_item("response.reasoning_text.delta", thought, content_index=0, delta=text)]

    def _close_thought(self, thought: "_Thought") -> list[bytes]:
        text = "".join(thought.texts)
        if not text:
            return []
        kind, name, at = (
            ("summary_text", "response.reasoning_summary_part.done", {"summary_index": 0})
            if thought.summarised
            else ("reasoning_text", "response.content_part.done", {"content_index": 0})
        )
        done = "response.reasoning_summary_text.done" if thought.summarised else "response.reasoning_text.done"
        return [
            self._of_item(done, thought, **at, text=text),
            self._of_item(name, thought, **at, part={"type": kind, "text": text}),
        ]

    # -- what is called

    def _call(self, event: neutral.ToolCallBegan) -> list[bytes]:
        pieces = self._think(neutral.ThinkingSignature(0, of_call(event.signature))) if event.signature else []
        call = self._calls[event.call] = _Call(ids.of_output("fc", self._response.id, len(self._items)), len(self._items), event)
        return pieces + self._opened(call)

    def _argue(self, call: "_Call", text: str) -> list[bytes]:
        if not call.open:
            if not text.isspace():
                raise UpstreamBroken(f"the model's server went on with the arguments of {call.began.name[:200]} after their end")
            return []
        call.arguments.add(text)
        return [self._of_item("response.function_call_arguments.delta", call, delta=text)]

    # -- items

    def _opened(self, item: "_Message | _Thought | _Call") -> list[bytes]:
        """What begins an item, behind what ends those that nothing can be added to any more."""
        pieces = [] if self._began else self._begin(neutral.Began())
        for other in self._items:
            if other.open and not (isinstance(other, _Call) and not other.arguments.whole):
                pieces += self._close(other, "completed")
        self._items.append(item)
        added = {"output_index": item.index, "item": item.whole("in_progress")}
        return [*pieces, self._event("response.output_item.added", added)]

    def _close(self, item: "_Message | _Thought | _Call", status: str) -> list[bytes]:
        pieces: list[bytes] = []
        match item:
            case _Message():
                pieces = self._close_part(item)
            case _Thought():
                pieces = self._close_thought(item)
            case _Call():
                if not item.arguments.texts:
                    pieces = self._argue(item, "{}")
                pieces.append(self._of_item("response.function_call_arguments.done", item, arguments=item.arguments.text))
        item.open = False
        item.status = status
        done = {"output_index": item.index, "item": item.whole(status)}
        return [*pieces, self._event("response.output_item.done", done)]

    def _end(self) -> list[bytes]:
        pieces = self._begin(neutral.Began())
        reason = output.incomplete(self._finish)
        for item in self._items:
            if item.open:
                pieces += self._close(item, "incomplete" if reason else "completed")
        items = [item.whole(item.status) for item in self._items]
        response = self._response.at_last(items, self._finish, self._counted)
        return [*pieces, self._event(f"response.{response['status']}", {"response": response})]

    def _of_item(self, name: str, item: "_Message | _Thought | _Call", **told: Any) -> bytes:
        return self._event(name, {"item_id": item.id, "output_index": item.index, **told})

    def _event(self, name: str, told: Json) -> bytes:
        self._number += 1
        data = reading.encode({"type": name, "sequence_number": self._number, **told})
        return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class _Item:
    """An item of the output, as far as it was written."""

    def __init__(self, identity: str, index: int) -> None:
        self.id = identity
        self.index = index
        self.open = True
        self.status = "in_progress"


class _Words:
    """A part of a message: ``output_text`` or ``refusal``."""

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.start = start
        """Characters that were said before it."""
        self.texts: list[str] = []
        self.tokens: list[Json] = []
        self.annotations: list[Json] = []

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def whole(self) -> Json:
        return (
            output.refusal_part(self.text) if self.kind == "refusal" else output.text_part(self.text, self.tokens, self.annotations)
        )


class _Message(_Item):
    """What the model says."""

    def __init__(self, identity: str, index: int) -> None:
        super().__init__(identity, index)
        self.parts: list[_Words] = []

    def whole(self, status: str) -> Json:
        return output.message_item(self.id, (part.whole() for part in self.parts), status)


class _Thought(_Item):
    """What it thinks."""

    def __init__(self, identity: str, index: int, *, summarised: bool) -> None:
        super().__init__(identity, index)
        self.summarised = summarised
        self.texts: list[str] = []
        self.packed = ""

    def whole(self, status: str) -> Json:
        return output.reasoning_item(self.id, "".join(self.texts), self.packed, summarised=self.summarised)


class _Call(_Item):
    """A tool that it calls."""

    def __init__(self, identity: str, index: int, began: neutral.ToolCallBegan) -> None:
        super().__init__(identity, index)
        self.began = began
        self.arguments = Arguments()

    def whole(self, status: str) -> Json:
        return output.call_item(self.id, self.began, self.arguments.text, status)


def write_whole(events: Iterable[Event], request: ChatRequest) -> bytes:
    """The body of an answer that is not streamed."""
    answer = neutral.answer_of(events)
    response = ResponseObject(request)
    response.created = answer.began.created or response.created
    choice = next((choice for choice in answer.choices if choice.index == 0), neutral.Choice())
    tokens = [token for piece in choice.logprobs for token in output.tokens_of(neutral.LogProbs(0, piece))]
    items = _items(at_thoughts(choice.parts), response, tokens, choice.citations)
    if output.incomplete(choice.finish) and items and "status" in items[-1]:
        items[-1]["status"] = "incomplete"
    return reading.encode(response.at_last(items, choice.finish, answer.counted))


def _items(
    parts: Iterable[neutral.AnswerPart], response: ResponseObject, tokens: list[Json], citations: list[neutral.Cited]
) -> list[Json]:
    """The items of a whole answer; its log-probabilities go to the first words."""
    items: list[Json] = []
    said = 0
    for part in parts:
        place = len(items)
        match part:
            case chat.Text() | chat.Refusal():
                if not items or items[-1]["type"] != "message":
                    items.append(output.message_item(ids.of_output("msg", response.id, place), (), "completed"))
                if isinstance(part, chat.Refusal):
                    items[-1]["content"].append(output.refusal_part(part.text))
                    continue
                end = said + len(part.text)
                annotations = [output.annotation(cited, said) for cited in citations if said <= cited.start < end]
                items[-1]["content"].append(output.text_part(part.text, tokens, annotations))
                said, tokens = end, []
            case chat.Thinking() | chat.RedactedThinking():
                text = part.text if isinstance(part, chat.Thinking) else ""
                packed = thoughts.pack(part) if isinstance(part, chat.RedactedThinking) or part.signature else ""
                identity = ids.of_output("rs", response.id, place)
                items.append(output.reasoning_item(identity, text, packed, summarised=response.summarised))
            case chat.ToolCall():
                began = neutral.ToolCallBegan(0, 0, part.id, part.name)
                identity = ids.of_output("fc", response.id, place)
                items.append(output.call_item(identity, began, part.arguments, "completed"))
    return items
