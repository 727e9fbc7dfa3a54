"""Callers of Anthropic's Messages endpoint."""

import json
from typing import Any

from antiphon.testing.matrix.telling import Answer, Ask, Failure, ToolCall, Turn
from antiphon.transport import sse

_REASONS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}


class _Anthropic:
    endpoint = "messages"
    untold = frozenset(("logprobs", "choices"))

    def request(self, ask: Ask, *, stream: bool) -> dict[str, Any] | None:
        numbers = (ask.seed, ask.n, ask.presence_penalty, ask.frequency_penalty)
        if ask.logprobs or ask.json_object or any(number is not None for number in numbers):
            return None
        if any(turn.audio for turn in ask.turns):
            return None
        body: dict[str, Any] = {"model": "mock-model", "max_tokens": ask.max_tokens or 4000, "messages": []}
        if stream:
            body["stream"] = True
        if ask.system:
            body["system"] = ask.system
        for turn in ask.turns:
            message = _message(turn)
            if body["messages"] and body["messages"][-1]["role"] == message["role"]:
                body["messages"][-1]["content"] += message["content"]
            else:
                body["messages"].append(message)
        if ask.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in ask.tools
            ]
        choice: dict[str, Any] = {}
        if ask.tool_choice:
            kind = {"required": "any", "none": "none", "auto": "auto"}.get(ask.tool_choice, "tool")
            choice = {"type": kind, **({"name": ask.tool_choice} if kind == "tool" else {})}
        if ask.parallel_tools is not None:
            choice = {"type": "auto", **choice, "disable_parallel_tool_use": not ask.parallel_tools}
        config: dict[str, Any] = {}
        if ask.schema is not None:
            config["format"] = {"type": "json_schema", "schema": ask.schema}
        if ask.effort:
            config["effort"] = ask.effort
        told = {
            "tool_choice": choice or None,
            "output_config": config or None,
            "temperature": ask.temperature,
            "top_p": ask.top_p,
            "top_k": ask.top_k,
            "stop_sequences": list(ask.stop) or None,
        }
        return body | {name: value for name, value in told.items() if value is not None}

    def heard(self, status: int, body: bytes) -> Answer | Failure:
        told = json.loads(body)
        if status != 200:
            return Failure(status, told["error"]["message"])
        return _answer(told["content"], told["stop_reason"], told["usage"], ())

    def heard_stream(self, body: bytes) -> Answer | Failure:
        events = [json.loads(event.data) for event in sse.parse(body) if event.data]
        blocks: list[dict[str, Any]] = []
        texts: list[str] = []
        usage: dict[str, Any] = {}
        reason = ""
        assert events[0]["type"] == "message_start"
        for event in events:
            match event["type"]:
                case "error":
                    return Failure(0, event["error"]["message"])
                case "message_start":
                    usage |= event["message"]["usage"]
                case "content_block_start":
                    assert event["index"] == len(blocks)
                    blocks.append({**event["content_block"], "json": ""})
                case "content_block_delta":
                    delta = event["delta"]
                    block = blocks[event["index"]]
                    if delta["type"] == "text_delta":
                        texts.append(delta["text"])
                        block["text"] += delta["text"]
                    elif delta["type"] == "thinking_delta":
                        block["thinking"] += delta["thinking"]
                    elif delta["type"] == "input_json_delta":
                        block["json"] += delta["partial_json"]
                case "message_delta":
                    reason = event["delta"]["stop_reason"]
                    usage |= event["usage"]
        assert events[-1]["type"] == "message_stop"
        for block in blocks:
            if block["type"] == "tool_use":
                block["input"] = json.loads(block["json"] or "{}")
        return _answer(blocks, reason, usage, tuple(texts))


def _answer(blocks: list[dict[str, Any]], reason: str, usage: dict[str, Any], texts: tuple[str, ...]) -> Answer:
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return Answer(
        texts=texts or ((text,) if text else ()),
        thinking="".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=tuple(ToolCall(block["name"], block["input"], block["id"]) for block in blocks if block["type"] == "tool_use"),
        finish=_REASONS[reason],
        prompt_tokens=usage["input_tokens"] + cached + written,
        completion_tokens=usage["output_tokens"],
        cached_tokens=cached,
        reasoning_tokens=(usage.get("output_tokens_details") or {}).get("thinking_tokens", 0),
    )


def _message(turn: Turn) -> dict[str, Any]:
    if turn.result_of is not None:
        result = {"type": "tool_result", "tool_use_id": turn.result_of.id, "content": turn.text}
        return {"role": "user", "content": [result]}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    if turn.image:
        data = {"type": "base64", "media_type": "image/png", "data": turn.image}
        url = {"type": "url", "url": turn.image}
        blocks.append({"type": "image", "source": url if turn.image.startswith("https:") else data})
    if turn.document:
        source = {"type": "base64", "media_type": "application/pdf", "data": turn.document}
        blocks.append({"type": "document", "source": source})
    blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in turn.calls]
    return {"role": turn.role, "content": blocks}


plugin = _Anthropic()
