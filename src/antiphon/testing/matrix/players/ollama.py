"""A server that speaks Ollama's own API."""

import json
from collections.abc import Sequence
from typing import Any

from antiphon.testing.matrix.telling import Answer, Ask, Failure, Tool, ToolCall, Turn
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Header, Status, Step

_HEAD = {"model": "mock-model", "created_at": "2026-11-30T10:00:00.123456789Z"}


class _Ollama:
    def row(self, url: str) -> dict[str, Any]:
        return {"url": url, "key": "sk-key"}

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        if not _can_say(answer):
            return None
        message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.texts)}
        if answer.thinking:
            message["thinking"] = answer.thinking
        if answer.calls:
            message["tool_calls"] = [_call(call) for call in answer.calls]
        logprobs = {"logprobs": _logprobs(answer.texts)} if answer.logprobs else {}
        return [Body({**_HEAD, "message": message, **logprobs, **_end(answer)})]

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        if not _can_say(answer):
            return None
        said: list[dict[str, Any]] = [{"thinking": answer.thinking}] if answer.thinking else []
        lines = [_line(message) for message in said]
        lines += [
            {**_line({"content": text}), **({"logprobs": _logprobs([text])} if answer.logprobs else {})} for text in answer.texts
        ]
        lines += [_line({"tool_calls": [_call(call)]}) for call in answer.calls]
        lines += [_line({"content": ""}), {**_line({}), **_end(answer)}]
        steps = [Body(json.dumps(line, ensure_ascii=False) + "\n") for line in lines]
        return [Header("content-type", "application/x-ndjson"), *steps]

    def failure(self, failure: Failure) -> Sequence[Step]:
        return [Status(failure.status), Body({"error": failure.message})]

    def asked(self, request: RecordedRequest) -> Ask:
        assert request.path == "/api/chat"
        assert request.header("authorization") == "Bearer sk-key"
        body = request.json
        assert body["model"] == "mock-model"
        assert isinstance(body["stream"], bool)
        options = body.get("options") or {}
        shape = body.get("format")
        return Ask(
            system="\n".join(message["content"] for message in body["messages"] if message["role"] == "system"),
            turns=_turns([message for message in body["messages"] if message["role"] != "system"]),
            tools=tuple(
                Tool(tool["function"]["name"], tool["function"]["parameters"], tool["function"].get("description", ""))
                for tool in body.get("tools") or ()
            ),
            schema=shape if isinstance(shape, dict) else None,
            json_object=shape == "json",
            max_tokens=options.get("num_predict"),
            temperature=options.get("temperature"),
            top_p=options.get("top_p"),
            top_k=options.get("top_k"),
            stop=tuple(options.get("stop") or ()),
            seed=options.get("seed"),
            presence_penalty=options.get("presence_penalty"),
            frequency_penalty=options.get("frequency_penalty"),
            logprobs=bool(body.get("logprobs")),
            effort=str(body.get("think") or ""),
        )


def _can_say(answer: Answer) -> bool:
    return answer.choices == 1 and not answer.cached_tokens and not answer.reasoning_tokens and answer.finish != "content_filter"


def _turns(messages: list[dict[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        made = tuple(ToolCall(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ())
        calls |= {call.name: call for call in made}
        result_of = calls[message["tool_name"]] if message["role"] == "tool" else None
        image = "".join(message.get("images") or ())
        turns.append(Turn(message["role"], message.get("content", ""), image=image, calls=made, result_of=result_of))
    return tuple(turns)


def _line(message: dict[str, Any]) -> dict[str, Any]:
    return {**_HEAD, "message": {"role": "assistant", "content": "", **message}, "done": False}


def _end(answer: Answer) -> dict[str, Any]:
    reason = "length" if answer.finish == "length" else "stop"
    counts = {"prompt_eval_count": answer.prompt_tokens, "eval_count": answer.completion_tokens}
    return {"done": True, "done_reason": reason, "total_duration": 1000, **counts}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"function": {"name": call.name, "arguments": call.arguments}}


def _logprobs(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"token": text, "logprob": -0.5, "bytes": list(text.encode())} for text in texts]


plugin = _Ollama()
