"""Events that belong to no vendor, written as an answer of Ollama's ``/api/chat`` or ``/api/generate``.

Calls of tools are whole there, so their pieces are gathered; a call that was cut off with the answer is left out, as Ollama
does. Of the durations only the whole one is told, and only of streams: the others are known to the model's server alone.
"""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamBroken, UpstreamRefused
from antiphon.execution.wire import chat, reading, statuses
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.arguments import Arguments
from antiphon.execution.wire.chat import ChatRequest
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.ollama.logprobs import from_openai
from antiphon.execution.wire.said_errors import of_refused, refused
from antiphon.execution.wire.wrong_values import is_object
from antiphon.transport import lines

_REASONS: Final = {"length": "length", "content_filter": "content_filter", "refusal": "refusal"}
"""All others are ``stop``, also where tools were called."""

Said = Callable[[str, dict[str, Any]], dict[str, Any]]
"""What the model says, in the fields of an endpoint: of a text, and of ``thinking`` and ``tool_calls`` where there are any."""


def _chat(text: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text, **more}}


def _generated(text: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"response": text, **more}


class AnswerWriter:
    """Writes one streamed answer of ``/api/chat``."""

    def __init__(self, request: ChatRequest, request_id: str) -> None:
        self._model = request.model
        self._request_id = request_id
        self._began = time.monotonic()
        self._head = _head(request.model, 0)
        self._calls: dict[int, tuple[neutral.ToolCallBegan, Arguments]] = {}
        """Those that were not told yet, by their numbers."""
        self._finish: neutral.Finished | None = None
        self._counted: neutral.Counted | None = None
        self._failed = False

    def write(self, events: Iterable[Event]) -> bytes:
        """The lines for these. Raises UpstreamBroken where the arguments of a call are not JSON."""
        told: list[dict[str, Any]] = []
        for event in events:
            self._take(event, told)
        return b"".join(lines.encode(reading.encode(line)) for line in told)

    def _take(self, event: Event, told: list[dict[str, Any]]) -> None:
        match event:
            case neutral.Began():
                self._head = _head(self._model, event.created)
            case neutral.Counted():
                self._counted = event
            case neutral.Failed():
                self._failed = True
                told.append({"error": event.message, "request_id": self._request_id})
            case neutral.Ended():
                told += [] if self._failed else [*self._whole_calls(last=True), self._last()]
            case _ if event.index == 0:  # nobody can ask for more than one choice in this dialect
                self._add(event, told)

    def _add(self, event: Event, told: list[dict[str, Any]]) -> None:
        match event:
            case neutral.TextDelta() | neutral.RefusalDelta():
                told.append(self._line(event.text))
            case neutral.ThinkingDelta():
                told.append(self._line("", thinking=event.text))
            case neutral.LogProbs():
                self._tell_logprobs(event, told)
            case neutral.ToolCallBegan():
                told += self._whole_calls(last=False)
                self._calls[event.call] = (event, Arguments())
            case neutral.ToolArguments() if event.call in self._calls:
                self._calls[event.call][1].add(event.text)
            case neutral.Finished():
                self._finish = event

    def _tell_logprobs(self, event: neutral.LogProbs, told: list[dict[str, Any]]) -> None:
        """Put them into the line of their text, where it was written just now."""
        positions = from_openai(event.raw)
        if positions:
            line = told.pop() if told and "logprobs" not in told[-1] else self._line("")
            told.append({**line, "logprobs": positions})

    def _whole_calls(self, *, last: bool) -> list[dict[str, Any]]:
        """Lines for the calls that are complete; behind the ``last`` piece all must be that the answer was not cut off in."""
        told: list[dict[str, Any]] = []
        cut = self._finish is not None and self._finish.reason == "length"
        for number, (began, arguments) in list(self._calls.items()):
            if last or arguments.whole:
                del self._calls[number]
                call = _call(number, chat.ToolCall(began.id, began.name, arguments.text or "{}"), cut=cut)
                told += [self._line("", tool_calls=[call])] if call is not None else []
        return told

    def _line(self, text: str, **more: Any) -> dict[str, Any]:
        return {**self._head, **self._said(text, more), "done": False}

    def _said(self, text: str, more: dict[str, Any]) -> dict[str, Any]:
        return _chat(text, more)

    def _last(self) -> dict[str, Any]:
        duration = int((time.monotonic() - self._began) * 1e9)
        end = {**_end(self._finish), "total_duration": duration, **_counts(self._counted)}
        return {**self._line(""), **end}


class GeneratedWriter(AnswerWriter):
    """Writes one streamed answer of ``/api/generate``."""

    def _said(self, text: str, more: dict[str, Any]) -> dict[str, Any]:
        return _generated(text, more)


def write_whole(events: Iterable[Event], request: ChatRequest, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body of a whole answer of ``/api/chat``. Raises UpstreamBroken where a call's arguments are not JSON."""
    return _whole(_chat, events, request, request_id)


def write_whole_generated(events: Iterable[Event], request: ChatRequest, request_id: str) -> tuple[int, bytes]:
    """The same of ``/api/generate``."""
    return _whole(_generated, events, request, request_id)


def _whole(said: Said, events: Iterable[Event], request: ChatRequest, request_id: str) -> tuple[int, bytes]:
    answer = neutral.answer_of(events)
    if answer.failed is not None:
        return render_error(refused(answer.failed), request_id)
    choice = answer.choices[0] if answer.choices else neutral.Choice()
    cut = choice.finish is not None and choice.finish.reason == "length"
    calls = [part for part in choice.parts if isinstance(part, chat.ToolCall)]
    more = {
        "thinking": "".join(part.text for part in choice.parts if isinstance(part, chat.Thinking)),
        "tool_calls": [call for number, part in enumerate(calls) if (call := _call(number, part, cut=cut)) is not None],
    }
    body = {
        **_head(request.model, answer.began.created),
        **said(
            "".join(part.text for part in choice.parts if isinstance(part, chat.Text | chat.Refusal)),
            {name: value for name, value in more.items() if value},
        ),
        **_end(choice.finish),
        **_counts(answer.counted),
    }
    told = [position for raw in choice.logprobs for position in from_openai(raw)]
    return 200, reading.encode({**body, "logprobs": told} if told else body)


def _call(number: int, call: chat.ToolCall, *, cut: bool) -> dict[str, Any] | None:
    """A call as it is told, or None for one that was ``cut`` off with the answer."""
    if not is_object(call.arguments):
        if cut:
            return None
        raise UpstreamBroken(f"the arguments with which the model called {call.name[:200]} are not the JSON of an object")
    function = {"index": number, "name": call.name, "arguments": msgspec.Raw(call.arguments.encode())}
    return {"id": call.id, "function": function} if call.id else {"function": function}


def _head(model: str, created: int) -> dict[str, Any]:
    """What every line begins with. Of a time that no calendar has, now is told instead."""
    try:
        when = datetime.fromtimestamp(created or time.time(), UTC)
    except (ValueError, OverflowError, OSError):
        when = datetime.now(UTC)
    return {"model": model, "created_at": when.isoformat().replace("+00:00", "Z")}


def _end(finish: neutral.Finished | None) -> dict[str, Any]:
    return {"done": True, "done_reason": _REASONS.get(finish.reason, "stop") if finish is not None else "stop"}


def _counts(counted: neutral.Counted | None) -> dict[str, int]:
    if counted is None:
        return {}
    return {"prompt_eval_count": counted.usage.prompt_tokens, "eval_count": counted.usage.completion_tokens}


def render_error(error: AntiphonError, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body. Of what another dialect's server refused, its own words are kept."""
    mine = neutral.Failed(statuses.status_of(error), str(error))
    failed = of_refused(error) if isinstance(error, UpstreamRefused) else mine
    status = 503 if failed.status == 529 else failed.status
    return status, reading.encode({"error": failed.message, "request_id": request_id})
