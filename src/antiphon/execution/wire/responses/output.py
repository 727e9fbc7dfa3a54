"""The items of a response's output, and the object that holds them: shapes that the whole answer and the streamed one share."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.chat import ChatRequest
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.responses import ids

Json = dict[str, Any]
_DEFAULTS: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}
"""What a response says of fields that the caller did not give; None where the model's server has a default that is not known."""
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter", "refusal": "content_filter"}
"""Why an answer is not complete; one that ended for any other reason is."""


class _Alternative(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int] | None = None


class _Token(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _LogProbs(msgspec.Struct):
    content: list[_Token] | None = None


class _SummaryWish(msgspec.Struct):
    summary: str | None = None
    generate_summary: str | None = None


_decode_logprobs = msgspec.json.Decoder(_LogProbs | None).decode
_decode_wish = msgspec.json.Decoder(_SummaryWish).decode
_decode_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def tokens_of(logprobs: neutral.LogProbs) -> list[Json]:
    """The log-probabilities of words. Those of a refusal have no place here. Raises UpstreamBroken for what are none."""
    try:
        told = _decode_logprobs(logprobs.raw)
    except msgspec.ValidationError as error:
        raise UpstreamBroken(f"the model's server sent log-probabilities in a shape that is not known: {error}") from error
    tokens = (told.content if told is not None else None) or ()
    return [{**_alternative(token), "top_logprobs": [_alternative(one) for one in token.top_logprobs or ()]} for token in tokens]


def _alternative(told: _Alternative) -> Json:
    return {"token": told.token, "logprob": told.logprob, "bytes": list(told.token.encode()) if told.bytes is None else told.bytes}


def text_part(text: str, tokens: Sequence[Json] = (), annotations: Sequence[Json] = ()) -> Json:
    """Words."""
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": tokens}


def annotation(cited: neutral.Cited, start: int) -> Json:
    """Whose a stretch of a part is that begins at character ``start`` of all that is said."""
    place = {"start_index": cited.start - start, "end_index": cited.end - start}
    return {"type": "url_citation", "url": cited.url, "title": cited.title, **place}


def refusal_part(text: str) -> Json:
    """Words with which the model declined."""
    return {"type": "refusal", "refusal": text}


def message_item(identity: str, content: Iterable[Json], status: str) -> Json:
    """What the model said."""
    return {"type": "message", "id": identity, "role": "assistant", "status": status, "content": list(content)}


def call_item(identity: str, call: neutral.ToolCallBegan, arguments: str, status: str) -> Json:
    """A call of a tool."""
    told = {"call_id": call.id, "name": call.name, "arguments": arguments}
    return {"type": "function_call", "id": identity, **told, "status": status}


def reasoning_item(identity: str, text: str, packed: str, *, summarised: bool) -> Json:
    """A thought: as a summary for callers who asked for one, else as it came. ``packed`` is what they give back of it."""
    thought = [{"type": "summary_text" if summarised else "reasoning_text", "text": text}] if text else []
    shown = {"summary": thought} if summarised else {"summary": [], **({"content": thought} if thought else {})}
    return {"type": "reasoning", "id": identity, **shown, **({"encrypted_content": packed} if packed else {})}


class ResponseObject:
    """A response: what was asked, to be completed by what comes of it."""

    def __init__(self, request: ChatRequest) -> None:
        self.id = ids.new()
        self.created = int(time.time())
        wish = request.echo.get("reasoning")
        told = _decode_wish(wish) if wish is not None else _SummaryWish()
        self.summarised = bool(told.summary or told.generate_summary)
        """The caller wants to see a summary of what the model thinks."""
        self._asked: Json = {**_DEFAULTS, **request.echo, **_filled(request.echo)}
        self._model = request.model

    def at_first(self) -> Json:
        """The response before anything of it has come."""
        return self._object("in_progress", [])

    def at_last(self, output: list[Json], finish: neutral.Finished | None, counted: neutral.Counted | None) -> Json:
        """The response with all that came of it."""
        reason = incomplete(finish)
        details = {"reason": reason} if reason else None
        return self._object("incomplete" if reason else "completed", output, incomplete_details=details, usage=_usage(counted))

    def _object(self, status: str, output: list[Json], **told: Any) -> Json:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "completed_at": int(time.time()) if status == "completed" else None,
            "error": None,
            "incomplete_details": None,
            **self._asked,
            "model": self._model,
            "output": output,
            "usage": None,
            **told,
        }


def incomplete(finish: neutral.Finished | None) -> str:
    """Why an answer is not complete; empty where it is."""
    return _INCOMPLETE.get(finish.reason, "") if finish is not None else ""


def _filled(echo: dict[str, msgspec.Raw]) -> Json:
    """Fields that a response tells in full, where the caller gave a part of them."""
    filled: Json = {}
    if "tools" in echo:
        filled["tools"] = [{"parameters": None, "strict": None, **tool} for tool in _decode_objects(echo["tools"])]
    if "text" in echo:
        told = {name: raw for name, raw in _decode_object(echo["text"]).items() if name != "format" or raw != NULL}
        filled["text"] = {**_DEFAULTS["text"], **told}
    return filled


def _usage(counted: neutral.Counted | None) -> Json | None:
    if counted is None:
        return None
    usage = counted.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": counted.cache_written},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
