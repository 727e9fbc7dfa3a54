"""A server that speaks Bedrock's Converse and ConverseStream; its frames are those of AWS's event streams."""

import json
import struct
from binascii import crc32
from collections.abc import Sequence
from typing import Any

from antiphon.testing.matrix.telling import Answer, Ask, Failure, Tool, ToolCall, Turn
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Header, Status, Step

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "content_filtered"}
_FORMATS = {"image": "png", "audio": "wav", "document": "pdf"}


class _Bedrock:
    def row(self, url: str) -> dict[str, Any]:
        return {"url": url, "key": "sk-key"}

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        if not _can_say(answer):
            return None
        content: list[dict[str, Any]] = []
        if answer.thinking:
            content.append({"reasoningContent": {"reasoningText": {"text": answer.thinking, "signature": "c2ln"}}})
        if answer.texts:
            content.append({"text": "".join(answer.texts)})
        content += [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in answer.calls]
        message = {"role": "assistant", "content": content}
        told = {"stopReason": _REASONS[answer.finish], "usage": _usage(answer), "metrics": {"latencyMs": 1}}
        return [Body({"output": {"message": message}, **told})]

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        if not _can_say(answer):
            return None
        blocks: list[tuple[dict[str, Any] | None, list[dict[str, Any]]]] = []
        if answer.thinking:
            blocks.append((None, [{"reasoningContent": {"text": answer.thinking}}, {"reasoningContent": {"signature": "c2ln"}}]))
        if answer.texts:
            blocks.append((None, [{"text": text} for text in answer.texts]))
        for call in answer.calls:
            text = json.dumps(call.arguments, ensure_ascii=False)
            pieces = [{"toolUse": {"input": piece}} for piece in (text[:3], text[3:])]
            blocks.append(({"toolUse": {"toolUseId": call.id, "name": call.name}}, pieces))
        steps: list[Step] = [Header("content-type", "application/vnd.amazon.eventstream"), _event("messageStart", role="assistant")]
        for index, (start, deltas) in enumerate(blocks):
            steps += [_event("contentBlockStart", contentBlockIndex=index, start=start)] if start else []
            steps += [_event("contentBlockDelta", contentBlockIndex=index, delta=delta) for delta in deltas]
            steps.append(_event("contentBlockStop", contentBlockIndex=index))
        stop = _event("messageStop", stopReason=_REASONS[answer.finish])
        return [*steps, stop, _event("metadata", usage=_usage(answer), metrics={"latencyMs": 1})]

    def failure(self, failure: Failure) -> Sequence[Step]:
        kind = {400: "ValidationException", 429: "ThrottlingException", 503: "ServiceUnavailableException"}[failure.status]
        return [Status(failure.status), Header("x-amzn-errortype", kind), Body({"message": failure.message})]

    def asked(self, request: RecordedRequest) -> Ask:
        assert request.path in ("/model/mock-model/converse", "/model/mock-model/converse-stream")
        assert request.header("authorization") == "Bearer sk-key"
        body = request.json
        config = body.get("inferenceConfig") or {}
        tools = body.get("toolConfig") or {}
        choice = tools.get("toolChoice") or {}
        kind = "required" if "any" in choice else choice["tool"]["name"] if "tool" in choice else next(iter(choice), "")
        shape = (body.get("outputConfig") or {}).get("textFormat")
        return Ask(
            system="\n".join(block["text"] for block in body.get("system") or ()),
            turns=_turns(body["messages"]),
            tools=tuple(
                Tool(spec["name"], spec["inputSchema"]["json"], spec.get("description", ""))
                for spec in (tool["toolSpec"] for tool in tools.get("tools") or ())
            ),
            tool_choice=kind,
            schema=json.loads(shape["structure"]["jsonSchema"]["schema"]) if shape else None,
            max_tokens=config.get("maxTokens"),
            temperature=config.get("temperature"),
            top_p=config.get("topP"),
            stop=tuple(config.get("stopSequences") or ()),
        )


def frame(name: str, payload: bytes, kind: str = "event") -> bytes:
    """One frame of an event stream, by AWS's documentation of its encoding: lengths, headers, payload and two checksums."""
    told = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode() for key, value in told.items()
    )
    prelude = struct.pack("!II", len(headers) + len(payload) + 16, len(headers))
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + payload
    return message + struct.pack("!I", crc32(message))


def _event(name: str, **payload: Any) -> Body:
    return Body(frame(name, json.dumps(payload, ensure_ascii=False).encode()))


def _can_say(answer: Answer) -> bool:
    return answer.choices == 1 and not answer.logprobs and not answer.reasoning_tokens


def _turns(messages: list[dict[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        blocks = message["content"]
        made = [block["toolUse"] for block in blocks if "toolUse" in block]
        calls |= {call["toolUseId"]: ToolCall(call["name"], call["input"]) for call in made}
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        turns += [Turn("tool", _text(result["content"]), result_of=calls[result["toolUseId"]]) for result in results]
        told: dict[str, Any] = {"text": _text(blocks)}
        for kind, form in _FORMATS.items():
            for block in blocks:
                if kind in block:
                    assert block[kind]["format"] == form
                    told[kind] = block[kind]["source"]["bytes"]
        told["calls"] = tuple(calls[call["toolUseId"]] for call in made)
        if len(results) < len(blocks):
            turns.append(Turn(message["role"], **told))
    return tuple(turns)


def _text(blocks: list[dict[str, Any]]) -> str:
    return "".join(block.get("text", "") for block in blocks)


def _usage(answer: Answer) -> dict[str, int]:
    fresh = answer.prompt_tokens - answer.cached_tokens
    total = answer.prompt_tokens + answer.completion_tokens
    counts = {"inputTokens": fresh, "outputTokens": answer.completion_tokens, "totalTokens": total}
    return {**counts, "cacheReadInputTokens": answer.cached_tokens, "cacheWriteInputTokens": 0}


plugin = _Bedrock()
