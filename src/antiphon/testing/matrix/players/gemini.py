"""A server that speaks Google's Gemini API."""

from collections.abc import Sequence
from typing import Any

from antiphon.testing.matrix.telling import PDF_NAME, Answer, Ask, Failure, Tool, ToolCall, Turn
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Event, Header, Status, Step

_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_STATES = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
_ROLES = {"user": "user", "model": "assistant"}


class _Gemini:
    def row(self, url: str) -> dict[str, Any]:
        return {"url": f"{url}/v1beta", "key": "sk-key"}

    def whole(self, answer: Answer) -> Sequence[Step] | None:
        if answer.logprobs:
            return None
        parts = [part for piece in _pieces(answer) for part in piece]
        candidates = [_candidate(index, parts, answer.finish) for index in range(answer.choices)]
        return [Body(_response(candidates, answer))]

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        if answer.logprobs:
            return None
        steps: list[Step] = [Header("content-type", "text/event-stream")]
        for piece in _pieces(answer):
            steps += [Event(_response([_candidate(index, piece)])) for index in range(answer.choices)]
        last = [_candidate(index, [{"text": ""}], answer.finish) for index in range(answer.choices)]
        return [*steps, Event(_response(last)), Event(_response([], answer))]

    def failure(self, failure: Failure) -> Sequence[Step]:
        told = {"code": failure.status, "message": failure.message, "status": _STATES[failure.status]}
        return [Status(failure.status), Body({"error": told})]

    def asked(self, request: RecordedRequest) -> Ask:
        place, _, method = request.path.partition(":")
        assert place == "/v1beta/models/mock-model"
        assert method in ("generateContent", "streamGenerateContent")
        assert request.header("x-goog-api-key") == "sk-key"
        body = request.json
        config = body.get("generationConfig") or {}
        calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
        allowed = calling.get("allowedFunctionNames") or ()
        choice = {"ANY": "required", "NONE": "none", "AUTO": "auto"}.get(calling.get("mode", ""), "")
        thinking = config.get("thinkingConfig") or {}
        is_json = config.get("responseMimeType") == "application/json"
        return Ask(
            system="\n".join(part["text"] for part in (body.get("systemInstruction") or {"parts": ()})["parts"]),
            turns=_turns(body["contents"]),
            tools=tuple(
                Tool(
                    declared["name"],
                    declared.get("parametersJsonSchema", {"type": "object", "properties": {}}),
                    declared.get("description", ""),
                )
                for tool in body.get("tools") or ()
                for declared in tool["functionDeclarations"]
            ),
            tool_choice=allowed[0] if allowed else choice,
            schema=config.get("responseJsonSchema"),
            json_object=is_json and "responseJsonSchema" not in config,
            max_tokens=config.get("maxOutputTokens"),
            temperature=config.get("temperature"),
            top_p=config.get("topP"),
            top_k=config.get("topK"),
            stop=tuple(config.get("stopSequences") or ()),
            seed=config.get("seed"),
            n=config.get("candidateCount"),
            presence_penalty=config.get("presencePenalty"),
            frequency_penalty=config.get("frequencyPenalty"),
            logprobs=config.get("responseLogprobs", False),
            effort=str(thinking.get("thinkingLevel") or thinking.get("thinkingBudget") or ""),
        )


def _turns(contents: list[dict[str, Any]]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    calls: dict[str, ToolCall] = {}
    for content in contents:
        texts = [part["text"] for part in content["parts"] if "text" in part and part["text"] != PDF_NAME]  # which stands as text
        told: dict[str, Any] = {"text": "".join(texts), "calls": ()}
        results = 0
        for part in content["parts"]:
            if "functionCall" in part:
                call = ToolCall(part["functionCall"]["name"], part["functionCall"].get("args") or {})
                calls[call.name] = call
                told["calls"] += (call,)
            elif "functionResponse" in part:
                result = part["functionResponse"]
                (text,) = result["response"].values()
                turns.append(Turn("tool", text, result_of=calls[result["name"]]))
                results += 1
            elif data := part.get("inlineData"):
                told[{"image/png": "image", "audio/wav": "audio", "application/pdf": "document"}[data["mimeType"]]] = data["data"]
            elif "fileData" in part:
                told["image"] = part["fileData"]["fileUri"]
        if results < len(content["parts"]):
            turns.append(Turn(_ROLES[content["role"]], **told))
    return tuple(turns)


def _pieces(answer: Answer) -> list[list[dict[str, Any]]]:
    pieces: list[list[dict[str, Any]]] = [[{"text": answer.thinking, "thought": True}]] if answer.thinking else []
    pieces += [[{"text": text}] for text in answer.texts]
    if answer.calls:
        pieces.append([{"functionCall": {"name": call.name, "args": call.arguments}} for call in answer.calls])
    return pieces


def _candidate(index: int, parts: list[dict[str, Any]], finish: str = "") -> dict[str, Any]:
    ended = {"finishReason": _REASONS[finish]} if finish else {}
    return {"index": index, "content": {"role": "model", "parts": parts}, **ended}


def _response(candidates: list[dict[str, Any]], answer: Answer | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {"modelVersion": "mock-model", "responseId": "r1"}
    if candidates:
        told["candidates"] = candidates
    if answer is not None:
        told["usageMetadata"] = {
            "promptTokenCount": answer.prompt_tokens,
            "cachedContentTokenCount": answer.cached_tokens,
            "candidatesTokenCount": answer.completion_tokens - answer.reasoning_tokens,
            "thoughtsTokenCount": answer.reasoning_tokens,
            "totalTokenCount": answer.prompt_tokens + answer.completion_tokens,
        }
    return told


plugin = _Gemini()
