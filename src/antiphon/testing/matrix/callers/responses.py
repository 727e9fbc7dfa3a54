"""Callers of OpenAI's Responses endpoint."""

import json
from typing import Any

from antiphon.testing.matrix.telling import PDF_NAME, Answer, Ask, Failure, ToolCall, Turn
from antiphon.transport import sse

_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class _Responses:
    endpoint = "responses"
    untold = frozenset(("logprobs", "choices"))

    def request(self, ask: Ask, *, stream: bool) -> dict[str, Any] | None:
        numbers = (ask.seed, ask.n, ask.presence_penalty, ask.frequency_penalty, ask.top_k)
        if ask.logprobs or ask.stop or any(number is not None for number in numbers) or any(turn.audio for turn in ask.turns):
            return None
        items = [item for turn in ask.turns for item in _items(turn)]
        body: dict[str, Any] = {"model": "mock-model", "input": items, "stream": stream, "store": False}
        if ask.tools:
            body["tools"] = [
                {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": False}
                for tool in ask.tools
            ]
        if ask.tool_choice:
            named = {"type": "function", "name": ask.tool_choice}
            body["tool_choice"] = ask.tool_choice if ask.tool_choice in ("auto", "none", "required") else named
        if ask.schema is not None:
            body["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": ask.schema, "strict": False}}
        if ask.json_object:
            body["text"] = {"format": {"type": "json_object"}}
        told = {
            "instructions": ask.system or None,
            "parallel_tool_calls": ask.parallel_tools,
            "max_output_tokens": ask.max_tokens,
            "temperature": ask.temperature,
            "top_p": ask.top_p,
            "reasoning": {"effort": ask.effort} if ask.effort else None,
        }
        return body | {name: value for name, value in told.items() if value is not None}

    def heard(self, status: int, body: bytes) -> Answer | Failure:
        told = json.loads(body)
        return Failure(status, told["error"]["message"]) if status != 200 else _answer(told, ())

    def heard_stream(self, body: bytes) -> Answer | Failure:
        events = [json.loads(event.data) for event in sse.parse(body) if event.data]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        last = events[-1]
        if last["type"] == "error":
            return Failure(0, last["message"])
        if last["type"] == "response.failed":
            return Failure(0, last["response"]["error"]["message"])
        assert last["type"] in ("response.completed", "response.incomplete")
        texts = tuple(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        answer = _answer(last["response"], texts)
        assert "".join(texts) == "".join(_answer(last["response"], ()).texts)
        return answer


def _answer(response: dict[str, Any], texts: tuple[str, ...]) -> Answer:
    output, usage = response["output"], response["usage"]
    said = [part for item in output if item["type"] == "message" for part in item["content"]]
    text = "".join(part.get("text", part.get("refusal", "")) for part in said)
    thoughts = [item for item in output if item["type"] == "reasoning"]
    calls = [item for item in output if item["type"] == "function_call"]
    cut = (response.get("incomplete_details") or {}).get("reason", "")
    return Answer(
        texts=texts or ((text,) if text else ()),
        thinking="".join(part["text"] for item in thoughts for part in item.get("content") or item["summary"]),
        calls=tuple(ToolCall(call["name"], json.loads(call["arguments"]), call["call_id"]) for call in calls),
        finish=_REASONS.get(cut, "tool_calls" if calls else "stop"),
        prompt_tokens=usage["input_tokens"],
        completion_tokens=usage["output_tokens"],
        cached_tokens=usage["input_tokens_details"]["cached_tokens"],
        reasoning_tokens=usage["output_tokens_details"]["reasoning_tokens"],
    )


def _items(turn: Turn) -> list[dict[str, Any]]:
    if turn.result_of is not None:
        return [{"type": "function_call_output", "call_id": turn.result_of.id, "output": turn.text}]
    kind = "output_text" if turn.role == "assistant" else "input_text"
    parts: list[dict[str, Any]] = [{"type": kind, "text": turn.text}]
    if turn.image:
        url = turn.image if turn.image.startswith("https:") else f"data:image/png;base64,{turn.image}"
        parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
    if turn.document:
        data = f"data:application/pdf;base64,{turn.document}"
        parts.append({"type": "input_file", "filename": PDF_NAME, "file_data": data})
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
        for call in turn.calls
    ]
    return [{"role": turn.role, "content": parts}, *calls]


plugin = _Responses()
