"""Events that belong to no vendor, written as an answer of OpenAI's chat endpoint.

What a model thinks goes out as ``reasoning_content``, and what its vendor wants back of it as ``thinking_blocks``, as other
gateways name them.
"""

import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.answer_ids import CHAT, answer_id
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.openai import errors as openai_errors
from antiphon.execution.wire.openai import passthrough
from antiphon.execution.wire.openai.extra_content import with_signature
from antiphon.execution.wire.said_errors import of_refused, refused
from antiphon.transport import sse

_REASONS: Final = {"length": "length", "tool_calls": "tool_calls", "content_filter": "content_filter", "refusal": "content_filter"}
"""All others are ``stop``."""


class AnswerWriter:
    """Writes one streamed answer. ``model`` is the caller's name for it; ``request_id`` serves where the server told no id."""

    def __init__(self, model: str, request_id: str, *, wants_usage: bool = False) -> None:
        self._head = {
            "id": answer_id(CHAT, "", request_id),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._request_id = request_id
        self._wants_usage = wants_usage
        self._thoughts: dict[int, list[str]] = {}
        self._opened: set[int] = set()
        self._failed = False

    def write(self, events: Iterable[Event]) -> bytes:
        """The server-sent events for these."""
        return b"".join(self._write(event) for event in events)

    def fail(self, error: AntiphonError) -> bytes:
        """The event that tells of an error once the answer has begun."""
        return sse.encode(render_error(error, self._request_id)[1])

    def _write(self, event: Event) -> bytes:
        match event:
            case neutral.Began():
                self._head["created"] = event.created or self._head["created"]
                self._head["id"] = answer_id(CHAT, event.id, self._request_id)
                return b""
            case neutral.TextDelta():
                return self._delta(event.index, content=event.text)
            case neutral.RefusalDelta():
                return self._delta(event.index, refusal=event.text)
            case neutral.ThinkingDelta():
                self._thoughts.setdefault(event.index, []).append(event.text)
                return self._delta(event.index, reasoning_content=event.text)
            case neutral.ThinkingSignature() | neutral.RedactedThought():
                return self._thinking_block(event)
            case neutral.ToolCallBegan() | neutral.ToolArguments():
                return self._call(event)
            case neutral.LogProbs():
                return self._choice({"index": event.index, "delta": {}, "logprobs": event.raw, "finish_reason": None})
            case neutral.Cited():
                return self._delta(event.index, annotations=[_annotation(event)])
            case neutral.Finished():
                opening = b"" if event.index in self._opened else self._delta(event.index, content="")
                finish = {"index": event.index, "delta": {}, "finish_reason": _REASONS.get(event.reason, "stop")}
                return opening + self._choice(finish)
            case neutral.Counted() if self._wants_usage:
                return sse.encode(reading.encode({**self._head, "choices": [], "usage": _usage(event)}))
            case neutral.Failed():
                self._failed = True
                return self.fail(refused(event))
            case neutral.Ended():
                return b"" if self._failed else passthrough.DONE
        return b""

    def _thinking_block(self, event: neutral.ThinkingSignature | neutral.RedactedThought) -> bytes:
        if isinstance(event, neutral.RedactedThought):
            return self._delta(event.index, thinking_blocks=[{"type": "redacted_thinking", "data": event.data}])
        thought = "".join(self._thoughts.pop(event.index, ()))
        return self._delta(event.index, thinking_blocks=[_thought(thought, event.signature)])

    def _call(self, event: neutral.ToolCallBegan | neutral.ToolArguments) -> bytes:
        piece: dict[str, Any] = {"index": event.call}
        if isinstance(event, neutral.ToolArguments):
            piece["function"] = {"arguments": event.text}
        else:
            piece |= {"id": event.id, "type": "function", "function": {"name": event.name, "arguments": ""}}
            piece |= with_signature(event.signature)
        return self._delta(event.index, tool_calls=[piece])

    def _delta(self, index: int, **delta: Any) -> bytes:
        if index not in self._opened:
            self._opened.add(index)
            delta = {"role": "assistant", **delta}
        return self._choice({"index": index, "delta": delta, "finish_reason": None})

    def _choice(self, choice: dict[str, Any]) -> bytes:
        return sse.encode(reading.encode({**self._head, "choices": [choice]}))


def write_whole(events: Iterable[Event], model: str, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body of an answer that is not streamed."""
    answer = neutral.answer_of(events)
    if answer.failed is not None:
        return render_error(refused(answer.failed), request_id)
    body = {
        "id": answer_id(CHAT, answer.began.id, request_id),
        "object": "chat.completion",
        "created": answer.began.created or int(time.time()),
        "model": model,
        "choices": [_whole(choice) for choice in answer.choices],
    }
    if answer.counted is not None:
        body["usage"] = _usage(answer.counted)
    return 200, reading.encode(body)


def _whole(choice: neutral.Choice) -> dict[str, Any]:
    texts = [part.text for part in choice.parts if isinstance(part, chat.Text)]
    refusals = [part.text for part in choice.parts if isinstance(part, chat.Refusal)]
    calls = [part for part in choice.parts if isinstance(part, chat.ToolCall)]
    thoughts = [part for part in choice.parts if isinstance(part, chat.Thinking | chat.RedactedThinking)]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(texts) if texts or not (calls or refusals) else None,
        "refusal": "".join(refusals) or None,
    }
    thought = "".join(part.text for part in thoughts if isinstance(part, chat.Thinking))
    if thought:
        message["reasoning_content"] = thought
    blocks = [
        _thought(part.text, part.signature) if isinstance(part, chat.Thinking) else {"type": "redacted_thinking", "data": part.data}
        for part in thoughts
        if isinstance(part, chat.RedactedThinking) or part.signature
    ]
    if blocks:
        message["thinking_blocks"] = blocks
    if choice.citations:
        message["annotations"] = [_annotation(cited) for cited in choice.citations]
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                **with_signature(call.signature),
            }
            for call in calls
        ]
    reason = choice.finish.reason if choice.finish is not None else "stop"
    return {
        "index": choice.index,
        "message": message,
        "logprobs": _joined(choice.logprobs),
        "finish_reason": _REASONS.get(reason, "stop"),
    }


def _joined(pieces: list[msgspec.Raw]) -> Any:
    """The log-probabilities of a whole answer from those of its pieces."""
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    told = [msgspec.json.decode(piece, type=dict[str, list[msgspec.Raw] | None]) for piece in pieces]
    names = dict.fromkeys(name for piece in told for name in piece)
    return {name: [token for piece in told for token in piece.get(name) or ()] or None for name in names}


def _thought(text: str, signature: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def _annotation(cited: neutral.Cited) -> dict[str, Any]:
    told = {"start_index": cited.start, "end_index": cited.end, "url": cited.url, "title": cited.title}
    return {"type": "url_citation", "url_citation": told}


def _usage(counted: neutral.Counted) -> dict[str, Any]:
    usage = counted.usage
    written = {"cache_write_tokens": counted.cache_written} if counted.cache_written else {}
    heard = {"audio_tokens": counted.heard} if counted.heard else {}
    spoken = {"audio_tokens": counted.spoken} if counted.spoken else {}
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, **written, **heard},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens, **spoken},
    }


def render_error(error: AntiphonError, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body. Of what another dialect's server refused, its own words are kept."""
    if not isinstance(error, UpstreamRefused):
        return openai_errors.render(error, request_id)
    failed = of_refused(error)
    status = 503 if failed.status == 529 else failed.status
    return status, openai_errors.body(status, failed.message, request_id, code=failed.code or None)
