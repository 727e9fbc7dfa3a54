"""Well-formed answers of the OpenAI API, as scripts."""

import base64
import hashlib
import math
import struct
from typing import Any

import msgspec

from antiphon.testing.steps import Body, Done, Event, Header, Status, Step

MOCK_MODEL = "mock-model"
CREATED = 1_700_000_000
"""Unix time that all answers carry, seconds; fixed, so that answers can be compared."""
EMBEDDING_DIMENSIONS = 8
MAX_ANSWERS = 128
"""The most that ``n`` may ask for."""

PlainStep = Status | Header | Body | Event | Done


class Ask(msgspec.Struct, frozen=True):
    """What a fake needs to know of a request."""

    endpoint: str
    """``chat/completions``, ``completions`` or ``embeddings``."""
    body: bytes

    def parse(self) -> dict[str, Any]:
        """The body as a JSON object; an empty one where it is none."""
        try:
            decoded = msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            return {}
        return decoded if isinstance(decoded, dict) else {}


class TextAnswer(msgspec.Struct, frozen=True):
    """What a generating model says."""

    deltas: tuple[str, ...]
    """The text, cut as it is streamed."""
    finish: str | None = "stop"
    """Finish reason; None: the stream ends without one."""
    usage: bool | None = None
    """Whether the stream tells its usage; None: if asked."""
    done: bool = True
    """Whether the stream ends in ``[DONE]``."""


def echo(ask: Ask) -> tuple[PlainStep, ...]:
    """What a fake answers without a script: the last message or the prompt word by word, or a vector made of the text's hash."""
    if ask.endpoint == "embeddings":
        return (Body(_embeddings(ask.parse())),)
    words = _prompt_texts(ask.parse())[-1].split(" ")
    return speak(TextAnswer((words[0], *(" " + word for word in words[1:]))), ask)


def speak(answer: TextAnswer, ask: Ask) -> tuple[PlainStep, ...]:
    """The answer in the shape that the request wants: chat or completion, streamed or whole."""
    request = ask.parse()
    chat = ask.endpoint != "completions"
    count = request.get("n") or 1
    if not isinstance(count, int) or not 1 <= count <= MAX_ANSWERS:
        raise ValueError(f"n is not a number from 1 to {MAX_ANSWERS}")
    shape = _Shape(chat, str(request.get("model") or MOCK_MODEL), count, _usage(answer, request, count))
    if not request.get("stream"):
        return (Body(shape.whole(answer)),)
    asked = bool((request.get("stream_options") or {}).get("include_usage"))
    events = shape.events(answer, asked if answer.usage is None else answer.usage)
    return (*(Event(event) for event in events), *((Done(),) if answer.done else ()))


def refuse(status: int, message: str, code: str = "", retry_after: str = "") -> tuple[PlainStep, ...]:
    """An error answer in OpenAI's shape."""
    kind = "invalid_request_error" if status < 429 else "rate_limit_error" if status == 429 else "server_error"
    error = {"error": {"message": message, "type": kind, "param": None, "code": code or None}}
    headers = (Header("retry-after", retry_after),) if retry_after else ()
    return (Status(status), *headers, Body(error))


def model_list(names: tuple[str, ...]) -> tuple[Step, ...]:
    """The catalogue."""
    cards = [{"id": name, "object": "model", "created": CREATED, "owned_by": "mock"} for name in names]
    return (Body({"object": "list", "data": cards}),)


class _Shape:
    """The objects that one answer is made of."""

    def __init__(self, chat: bool, model: str, count: int, usage: dict[str, int]) -> None:
        self.chat = chat
        self.count = count
        self.usage = usage
        kind = "chat.completion" if chat else "text_completion"
        self.base = {"id": "chatcmpl-mock" if chat else "cmpl-mock", "created": CREATED, "model": model, "object": kind}

    def whole(self, answer: TextAnswer) -> dict[str, Any]:
        text = "".join(answer.deltas)
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        choices = [{"index": index, **said, "logprobs": None, "finish_reason": answer.finish} for index in range(self.count)]
        return {**self.base, "choices": choices, "usage": self.usage}

    def events(self, answer: TextAnswer, tell_usage: bool) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for index in range(self.count):
            if self.chat:
                events.append(self._chunk(index, {"delta": {"role": "assistant", "content": ""}}))
            said = [{"delta": {"content": text}} if self.chat else {"text": text} for text in answer.deltas]
            events.extend(self._chunk(index, piece) for piece in said)
            if answer.finish is not None:
                events.append(self._chunk(index, {"delta": {}} if self.chat else {"text": ""}, answer.finish))
        if tell_usage:
            events.append({**self._chunk_base(), "choices": [], "usage": self.usage})
        return events

    def _chunk(self, index: int, said: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**self._chunk_base(), "choices": [{"index": index, **said, "logprobs": None, "finish_reason": finish}]}

    def _chunk_base(self) -> dict[str, Any]:
        return {**self.base, "object": "chat.completion.chunk"} if self.chat else self.base


def _usage(answer: TextAnswer, request: dict[str, Any], count: int) -> dict[str, int]:
    """Prompt tokens are words, completion tokens are deltas."""
    prompt = sum(len(text.split()) for text in _prompt_texts(request))
    completion = len(answer.deltas) * count
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _prompt_texts(request: dict[str, Any]) -> list[str]:
    messages = request.get("messages")
    prompt = request.get("prompt")
    if isinstance(messages, list):
        texts = [_content_text(message.get("content")) for message in messages if isinstance(message, dict)]
    elif isinstance(prompt, list):
        texts = [str(part) for part in prompt]
    else:
        texts = [str(prompt or "")]
    return texts or [""]


def _content_text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _embeddings(request: dict[str, Any]) -> dict[str, Any]:
    texts = request.get("input")
    texts = [texts] if isinstance(texts, str) else list(texts or [])
    encode = _base64_vector if request.get("encoding_format") == "base64" else list
    data = [
        {"object": "embedding", "index": index, "embedding": encode(text_vector(str(text)))} for index, text in enumerate(texts)
    ]
    tokens = sum(len(str(text).split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": request.get("model") or MOCK_MODEL, "usage": usage}


def text_vector(text: str, dimensions: int = EMBEDDING_DIMENSIONS) -> list[float]:
    """A vector of unit length that depends on every character of the text, and means nothing."""
    raw = [byte - 127.5 for byte in hashlib.shake_128(text.encode()).digest(dimensions)]
    length = math.sqrt(sum(number * number for number in raw))
    return [number / length for number in raw]


def _base64_vector(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
