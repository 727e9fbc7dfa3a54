"""Servers that speak DashScope's native protocol. They answer in streams, as they are asked to."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from antiphon.testing.matrix.players._openai import OpenAI
from antiphon.testing.matrix.telling import Answer, Ask, Failure, ToolCall
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Header, Status, Step

_CODES = {400: "InvalidParameter", 429: "Throttling.RateQuota", 503: "ServiceUnavailable"}
_WORDED = OpenAI("", "", "")


class DashScope:
    """Models of one kind; ``parts`` where a content is a list of parts."""

    def __init__(self, kind: str, *, parts: bool) -> None:
        self._path = f"/api/v1/services/aigc/{kind}/generation"
        self._parts = parts

    def row(self, url: str) -> dict[str, Any]:
        return {"url": f"{url}/api/v1", "key": "sk-key"}

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        return self.stream(answer)

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        if answer.finish == "content_filter":
            return None
        pieces: list[dict[str, Any]] = [{"reasoning_content": answer.thinking}] if answer.thinking else []
        pieces += [{"content": self._content(text)} for text in answer.texts]
        pieces += [{"tool_calls": [_call(place, call)]} for place, call in enumerate(answer.calls)]
        logprobs = [answer.texts] if answer.logprobs else []
        steps = [self._event(answer, index, piece, "null") for piece in pieces for index in range(answer.choices)]
        for texts in logprobs:
            content = [{"token": text, "logprob": -0.5, "bytes": list(text.encode()), "top_logprobs": []} for text in texts]
            steps.append(self._event(answer, 0, {"content": self._content("")}, "null", logprobs={"content": content}))
        ends = [self._event(answer, index, {"content": self._content("")}, answer.finish) for index in range(answer.choices)]
        return [Header("content-type", "text/event-stream;charset=UTF-8"), *steps, *ends]

    def failure(self, failure: Failure) -> Sequence[Step]:
        told = {"code": _CODES[failure.status], "message": failure.message, "request_id": "r1"}
        return [Status(failure.status), Body(told)]

    def asked(self, request: RecordedRequest) -> Ask:
        assert request.path == self._path
        assert request.header("authorization") == "Bearer sk-key"
        assert request.header("x-dashscope-sse") == "enable"
        body = request.json
        parameters = body["parameters"]
        assert (parameters["result_format"], parameters["incremental_output"]) == ("message", True)
        messages = [{**message, "content": self._read(message["content"])} for message in body["input"]["messages"]]
        told = _WORDED.understood({"model": body["model"], "messages": messages, **parameters})
        thought = parameters.get("thinking_budget") or parameters.get("enable_thinking") or ""
        return msgspec.structs.replace(told, effort=str(thought))

    def _content(self, text: str) -> Any:
        return [{"text": text}] if self._parts else text

    def _read(self, content: Any) -> Any:
        """A content as OpenAI's dialect has it."""
        if not self._parts:
            assert isinstance(content, str)
            return content
        parts: list[dict[str, Any]] = []
        for part in content:
            if "image" in part:
                parts.append({"type": "image_url", "image_url": {"url": part["image"]}})
            elif "audio" in part:
                data = part["audio"].removeprefix("data:audio/wav;base64,")
                parts.append({"type": "input_audio", "input_audio": {"format": "wav", "data": data}})
            else:
                parts.append({"type": "text", "text": part["text"]})
        if all(part["type"] == "text" for part in parts):
            return "".join(part["text"] for part in parts)
        return parts

    def _event(self, answer: Answer, index: int, piece: dict[str, Any], finish: str, **more: Any) -> Body:
        message = {"role": "assistant", "content": self._content(""), **piece}
        usage = {
            "input_tokens": answer.prompt_tokens,
            "output_tokens": answer.completion_tokens,
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
            "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        }
        output = {"choices": [{"index": index, "message": message, "finish_reason": finish, **more}]}
        told = json.dumps({"output": output, "usage": usage, "request_id": "r1"}, ensure_ascii=False)
        return Body(f"id:1\nevent:result\n:HTTP_STATUS/200\ndata:{told}\n\n")


def _call(place: int, call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {"index": place, "id": call.id, "type": "function", "function": function}
