"""Callers of OpenAI's chat endpoint."""

import json
from typing import Any

from antiphon.testing.matrix.telling import PDF_NAME, Answer, Ask, Failure, ToolCall, Turn
from antiphon.transport import sse


class _OpenAI:
    endpoint = "chat/completions"
    untold = frozenset[str]()

    def request(self, ask: Ask, *, stream: bool) -> dict[str, Any] | None:
        body: dict[str, Any] = {"model": "mock-model", "messages": []}
        if ask.system:
            body["messages"].append({"role": "system", "content": ask.system})
        body["messages"] += [_message(turn) for turn in ask.turns]
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if ask.tools:
            body["tools"] = [
                {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}}
                for tool in ask.tools
            ]
        if ask.tool_choice:
            named = {"type": "function", "function": {"name": ask.tool_choice}}
            body["tool_choice"] = ask.tool_choice if ask.tool_choice in ("auto", "none", "required") else named
        if ask.schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": ask.schema}}
        if ask.json_object:
            body["response_format"] = {"type": "json_object"}
        told = {
            "parallel_tool_calls": ask.parallel_tools,
            "max_tokens": ask.max_tokens,
            "temperature": ask.temperature,
            "top_p": ask.top_p,
            "top_k": ask.top_k,
            "stop": list(ask.stop) or None,
            "seed": ask.seed,
            "n": ask.n,
            "presence_penalty": ask.presence_penalty,
            "frequency_penalty": ask.frequency_penalty,
            "logprobs": ask.logprobs or None,
            "reasoning_effort": ask.effort or None,
        }
        return body | {name: value for name, value in told.items() if value is not None}

    def heard(self, status: int, body: bytes) -> Answer | Failure:
        told = json.loads(body)
        if status != 200:
            return Failure(status, told["error"]["message"])
        choices = told["choices"]
        message = choices[0]["message"]
        return Answer(
            texts=(message["content"],) if message["content"] else (),
            thinking=message.get("reasoning_content") or "",
            calls=tuple(
                ToolCall(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
                for call in message.get("tool_calls") or ()
            ),
            finish=choices[0]["finish_reason"],
            logprobs=bool((choices[0].get("logprobs") or {}).get("content")),
            choices=len({choice["index"] for choice in choices}),
            **_usage(told["usage"]),
        )

    def heard_stream(self, body: bytes) -> Answer | Failure:
        datas = [event.data for event in sse.parse(body) if event.data]
        chunks = [json.loads(data) for data in datas if data != "[DONE]"]
        for chunk in chunks:
            if "error" in chunk:
                return Failure(0, chunk["error"]["message"])
        assert datas[-1] == "[DONE]"
        assert chunks[-1]["choices"] == []
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        first = [choice for choice in choices if choice["index"] == 0]
        deltas = [choice["delta"] for choice in first]
        calls: dict[int, list[str]] = {}
        for delta in deltas:
            for call in delta.get("tool_calls") or ():
                pieces = calls.setdefault(call["index"], ["", "", ""])
                pieces[0] += call.get("id") or ""
                pieces[1] += call["function"].get("name") or ""
                pieces[2] += call["function"].get("arguments") or ""
        assert sorted(calls) == list(range(len(calls)))
        (finish,) = [choice["finish_reason"] for choice in first if choice.get("finish_reason")]
        return Answer(
            texts=tuple(delta["content"] for delta in deltas if delta.get("content")),
            thinking="".join(delta.get("reasoning_content") or "" for delta in deltas),
            calls=tuple(ToolCall(name, json.loads(arguments), identity) for identity, name, arguments in calls.values()),
            finish=finish,
            logprobs=any((choice.get("logprobs") or {}).get("content") for choice in first),
            choices=len({choice["index"] for choice in choices}),
            **_usage(chunks[-1]["usage"]),
        )


def _message(turn: Turn) -> dict[str, Any]:
    if turn.result_of is not None:
        return {"role": "tool", "tool_call_id": turn.result_of.id, "content": turn.text}
    parts: list[dict[str, Any]] = []
    if turn.image:
        url = turn.image if turn.image.startswith("https:") else f"data:image/png;base64,{turn.image}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    if turn.audio:
        parts.append({"type": "input_audio", "input_audio": {"data": turn.audio, "format": "wav"}})
    if turn.document:
        data = f"data:application/pdf;base64,{turn.document}"
        parts.append({"type": "file", "file": {"filename": PDF_NAME, "file_data": data}})
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if parts:
        message["content"] = [{"type": "text", "text": turn.text}, *parts]
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for call in turn.calls
        ]
    return message


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    return {
        "prompt_tokens": usage["prompt_tokens"],
        "completion_tokens": usage["completion_tokens"],
        "cached_tokens": (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
        "reasoning_tokens": (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0),
    }


plugin = _OpenAI()
