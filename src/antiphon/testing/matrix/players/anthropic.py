"""A server that speaks Anthropic's Messages dialect."""

import json
from collections.abc import Sequence
from typing import Any

from antiphon.testing.matrix.telling import Answer, Ask, Failure, Tool, ToolCall, Turn
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Event, Header, Status, Step

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_KINDS = {400: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error"}


class _Anthropic:
    def row(self, url: str) -> dict[str, Any]:
        return {"url": f"{url}/v1", "key": "sk-key"}

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        if answer.logprobs or answer.choices > 1:
            return None
        content: list[dict[str, Any]] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "signature": "c2ln"})
        if answer.texts:
            content.append({"type": "text", "text": "".join(answer.texts)})
        content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in answer.calls]
        told = {"stop_reason": _REASONS[answer.finish], "stop_sequence": None, "usage": _usage(answer)}
        return [Body({"id": "m1", "type": "message", "role": "assistant", "model": "mock-model", "content": content, **told})]

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        if answer.logprobs or answer.choices > 1:
            return None
        message = {"id": "m1", "type": "message", "role": "assistant", "model": "mock-model", "content": []}
        started = {**message, "stop_reason": None, "stop_sequence": None, "usage": {**_usage(answer), "output_tokens": 1}}
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if answer.thinking:
            deltas = [{"type": "thinking_delta", "thinking": answer.thinking}, {"type": "signature_delta", "signature": "c2ln"}]
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
        if answer.texts:
            blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in answer.texts]))
        for call in answer.calls:
            text = json.dumps(call.arguments, ensure_ascii=False)
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in (text[:3], text[3:])]
            blocks.append(({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, pieces))
        steps: list[Step] = [Header("content-type", "text/event-stream"), _event("message_start", message=started)]
        for index, (block, deltas) in enumerate(blocks):
            steps.append(_event("content_block_start", index=index, content_block=block))
            steps += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
            steps.append(_event("content_block_stop", index=index))
        delta = {"stop_reason": _REASONS[answer.finish], "stop_sequence": None}
        usage = {key: value for key, value in _usage(answer).items() if key.startswith("output")}
        return [*steps, _event("message_delta", delta=delta, usage=usage), _event("message_stop")]

    def failure(self, failure: Failure) -> Sequence[Step]:
        told = {"type": _KINDS[failure.status], "message": failure.message}
        return [Status(failure.status), Body({"type": "error", "error": told})]

    def asked(self, request: RecordedRequest) -> Ask:
        assert request.path == "/v1/messages"
        assert request.header("x-api-key") == "sk-key"
        assert request.header("anthropic-version")
        body = request.json
        assert body["model"] == "mock-model"
        system = body.get("system") or ""
        choice = body.get("tool_choice") or {}
        shape = (body.get("output_config") or {}).get("format") or {}
        kind = {"any": "required", "tool": choice.get("name", "")}.get(choice.get("type", ""), choice.get("type", ""))
        return Ask(
            system=system if isinstance(system, str) else "\n".join(block["text"] for block in system),
            turns=_turns(body["messages"]),
            tools=tuple(Tool(tool["name"], tool["input_schema"], tool.get("description", "")) for tool in body.get("tools") or ()),
            tool_choice=kind,
            parallel_tools=not choice["disable_parallel_tool_use"] if "disable_parallel_tool_use" in choice else None,
            schema=shape.get("schema"),
            max_tokens=body["max_tokens"],
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            top_k=body.get("top_k"),
            stop=tuple(body.get("stop_sequences") or ()),
        )


def _turns(messages: list[dict[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        content = message["content"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        calls |= {block["id"]: ToolCall(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"}
        results = [block for block in blocks if block["type"] == "tool_result"]
        turns += [Turn("tool", _text(block["content"]), result_of=calls[block["tool_use_id"]]) for block in results]
        told: dict[str, Any] = {"text": _text([block for block in blocks if block["type"] == "text"])}
        for block in blocks:
            if block["type"] == "image":
                told["image"] = block["source"].get("url") or block["source"]["data"]
            elif block["type"] == "document":
                told["document"] = block["source"]["data"]
        told["calls"] = tuple(calls[block["id"]] for block in blocks if block["type"] == "tool_use")
        if len(results) < len(blocks):
            turns.append(Turn(message["role"], **told))
    return tuple(turns)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def _event(kind: str, **fields: Any) -> Event:
    return Event({"type": kind, **fields}, kind)


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "input_tokens": answer.prompt_tokens - answer.cached_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": answer.completion_tokens,
        "output_tokens_details": {"thinking_tokens": answer.reasoning_tokens},
    }


plugin = _Anthropic()
