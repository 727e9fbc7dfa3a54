"""Callers of Ollama's chat endpoint."""

import json
from typing import Any

from antiphon.testing.matrix.telling import Answer, Ask, Failure, ToolCall, Turn

_REASONS = {"length": "length", "content_filter": "content_filter", "refusal": "content_filter"}


class _Ollama:
    endpoint = "api/chat"
    untold = frozenset(("cached_tokens", "reasoning_tokens"))

    def request(self, ask: Ask, *, stream: bool) -> dict[str, Any] | None:
        if ask.tool_choice or ask.parallel_tools is not None or ask.n is not None:
            return None
        if any(turn.audio or turn.document or turn.image.startswith("https:") for turn in ask.turns):
            return None
        system = [{"role": "system", "content": ask.system}] if ask.system else []
        body: dict[str, Any] = {"model": "mock-model", "stream": stream, "messages": [*system, *map(_message, ask.turns)]}
        if ask.tools:
            body["tools"] = [
                {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}}
                for tool in ask.tools
            ]
        options = {
            "num_predict": ask.max_tokens,
            "temperature": ask.temperature,
            "top_p": ask.top_p,
            "top_k": ask.top_k,
            "stop": list(ask.stop) or None,
            "seed": ask.seed,
            "presence_penalty": ask.presence_penalty,
            "frequency_penalty": ask.frequency_penalty,
        }
        told = {
            "format": "json" if ask.json_object else ask.schema,
            "logprobs": ask.logprobs or None,
            "think": ask.effort or None,
            "options": {name: value for name, value in options.items() if value is not None} or None,
        }
        return body | {name: value for name, value in told.items() if value is not None}

    def heard(self, status: int, body: bytes) -> Answer | Failure:
        told = json.loads(body)
        return Failure(status, told["error"]) if status != 200 else _answer([told])

    def heard_stream(self, body: bytes) -> Answer | Failure:
        lines = [json.loads(line) for line in body.splitlines()]
        for line in lines:
            if "error" in line:
                return Failure(0, line["error"])
        return _answer(lines)


def _answer(lines: list[dict[str, Any]]) -> Answer:
    last = lines[-1]
    assert [line["done"] for line in lines] == [*[False] * (len(lines) - 1), True]
    messages = [line["message"] for line in lines]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return Answer(
        texts=tuple(message["content"] for message in messages if message["content"]),
        thinking="".join(message.get("thinking") or "" for message in messages),
        calls=tuple(ToolCall(call["function"]["name"], call["function"]["arguments"]) for call in calls),
        finish=_REASONS.get(last["done_reason"], "tool_calls" if calls else "stop"),
        prompt_tokens=last["prompt_eval_count"],
        completion_tokens=last["eval_count"],
        logprobs=any(line.get("logprobs") for line in lines),
    )


def _message(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.image:
        message["images"] = [turn.image]
    if turn.calls:
        message["tool_calls"] = [{"function": {"name": call.name, "arguments": call.arguments}} for call in turn.calls]
    if turn.result_of is not None:
        message["tool_name"] = turn.result_of.name
    return message


plugin = _Ollama()
