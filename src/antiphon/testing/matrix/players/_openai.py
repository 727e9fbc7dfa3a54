"""Servers that speak OpenAI's chat dialect."""

import json
from collections.abc import Sequence
from typing import Any

from antiphon.testing.matrix.telling import Answer, Ask, Failure, Tool, ToolCall, Turn
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Done, Event, Header, Status, Step

_HEAD = {"id": "c1", "created": 1, "model": "mock-model"}


class OpenAI:
    """One whose paths begin with ``root``, that is shown ``key`` in ``header``, and calls its model ``model``."""

    def __init__(self, root: str, header: str, key: str, model: str = "mock-model") -> None:
        self._root = root
        self._header = header
        self._key = key
        self._model = model

    def row(self, url: str) -> dict[str, Any]:
        return {"url": url + self._root, "key": "sk-key"}

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.texts) or None}
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        if answer.calls:
            message["tool_calls"] = [_call(call) for call in answer.calls]
        logprobs = _logprobs(answer.texts) if answer.logprobs else None
        choices = [
            {"index": index, "message": message, "finish_reason": answer.finish, "logprobs": logprobs}
            for index in range(answer.choices)
        ]
        return [Body({**_HEAD, "object": "chat.completion", "choices": choices, "usage": _usage(answer)})]

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        steps: list[Step] = [Header("content-type", "text/event-stream")]
        for index in range(answer.choices):
            steps.append(_chunk(index, {"role": "assistant", "content": ""}))
            if answer.thinking:
                steps.append(_chunk(index, {"reasoning_content": answer.thinking}))
            steps += [_chunk(index, {"content": text}, _logprobs([text]) if answer.logprobs else None) for text in answer.texts]
            for place, call in enumerate(answer.calls):
                text = json.dumps(call.arguments, ensure_ascii=False)
                steps.append(_chunk(index, {"tool_calls": [{"index": place, **_call(call, "")}]}))
                pieces = [{"index": place, "function": {"arguments": piece}} for piece in (text[:3], text[3:])]
                steps += [_chunk(index, {"tool_calls": [piece]}) for piece in pieces]
        steps += [_chunk(index, {}, finish=answer.finish) for index in range(answer.choices)]
        return [*steps, Event({**_HEAD, "object": "chat.completion.chunk", "choices": [], "usage": _usage(answer)}), Done()]

    def failure(self, failure: Failure) -> Sequence[Step]:
        return [Status(failure.status), Body({"error": {"message": failure.message, "type": "error", "code": None}})]

    def asked(self, request: RecordedRequest) -> Ask:
        assert request.path == f"{self._root}/chat/completions"
        assert request.header(self._header) == self._key
        return self.understood(request.json)

    def understood(self, body: dict[str, Any]) -> Ask:
        """What a body says."""
        assert body["model"] == self._model
        shape = body.get("response_format") or {}
        choice = body.get("tool_choice") or ""
        stop = body.get("stop") or ()
        names = {call["id"]: call for message in body["messages"] for call in message.get("tool_calls") or ()}
        return Ask(
            system="\n".join(m["content"] for m in body["messages"] if m["role"] in ("system", "developer")),
            turns=tuple(_turn(m, names) for m in body["messages"] if m["role"] not in ("system", "developer")),
            tools=tuple(
                Tool(tool["function"]["name"], tool["function"]["parameters"], tool["function"].get("description", ""))
                for tool in body.get("tools") or ()
            ),
            tool_choice=choice["function"]["name"] if isinstance(choice, dict) else choice,
            parallel_tools=body.get("parallel_tool_calls"),
            schema=shape["json_schema"]["schema"] if shape.get("type") == "json_schema" else None,
            json_object=shape.get("type") == "json_object",
            max_tokens=body.get("max_tokens", body.get("max_completion_tokens")),
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            top_k=body.get("top_k"),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            seed=body.get("seed", body.get("random_seed")),
            n=body.get("n"),
            presence_penalty=body.get("presence_penalty"),
            frequency_penalty=body.get("frequency_penalty"),
            logprobs=bool(body.get("logprobs")),
            effort=body.get("reasoning_effort") or "",
        )


def _turn(message: dict[str, Any], calls: dict[str, Any]) -> Turn:
    content = message.get("content")
    parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    told: dict[str, Any] = {"text": "".join(part["text"] for part in parts if part["type"] == "text")}
    for part in parts:
        if part["type"] == "image_url":
            told["image"] = part["image_url"]["url"].removeprefix("data:image/png;base64,")
        elif part["type"] == "input_audio":
            assert part["input_audio"]["format"] == "wav"
            told["audio"] = part["input_audio"]["data"]
        elif part["type"] == "file":
            told["document"] = part["file"]["file_data"].removeprefix("data:application/pdf;base64,")
    told["calls"] = tuple(_read_call(call) for call in message.get("tool_calls") or ())
    if message["role"] == "tool":
        told["result_of"] = _read_call(calls[message["tool_call_id"]])
    return Turn(message["role"], **told)


def _read_call(call: dict[str, Any]) -> ToolCall:
    return ToolCall(call["function"]["name"], json.loads(call["function"]["arguments"]))


def _call(call: ToolCall, arguments: str | None = None) -> dict[str, Any]:
    text = json.dumps(call.arguments, ensure_ascii=False) if arguments is None else arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _chunk(index: int, delta: dict[str, Any], logprobs: Any = None, finish: str | None = None) -> Event:
    choice = {"index": index, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
    return Event({**_HEAD, "object": "chat.completion.chunk", "choices": [choice]})


def _logprobs(texts: Sequence[str]) -> dict[str, Any]:
    return {
        "content": [{"token": text, "logprob": -0.5, "bytes": list(text.encode()), "top_logprobs": []} for text in texts],
        "refusal": None,
    }


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
    }
