"""One candidate of an answer of Gemini's, read into events that belong to no vendor."""

import secrets
from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.gemini import fields
from antiphon.execution.wire.gemini.names import DIALECT
from antiphon.execution.wire.reading import NULL, encode
from antiphon.execution.wire.signatures import marked
from antiphon.execution.wire.wrong_values import is_object

_REASONS: Final = {"STOP": "stop", "MAX_TOKENS": "length"}
"""All others but the failures are ``content_filter``: the server stopped the model, for what it said or for reasons of its own."""
_UNFINISHED: Final = "FINISH_REASON_UNSPECIFIED"
_FAILURES: Final = {
    "IMAGE_OTHER": "could make no image",
    "MALFORMED_FUNCTION_CALL": "called a tool in a way that cannot be read",
    "MALFORMED_RESPONSE": "answered in a way that cannot be read",
    "MISSING_THOUGHT_SIGNATURE": "missed the signature of a thought",
    "NO_IMAGE": "made no image",
    "TOO_MANY_TOOL_CALLS": "called too many tools in a row",
    "UNEXPECTED_TOOL_CALL": "called a tool that it was not given",
}
"""Reasons for the end that leave no answer, and what then is to be said of the model."""
_NOT_TEXT: Final = {
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
}
"""What a part may hold that no answer of a chat can."""


class CandidateReader:
    """Reads one candidate, chunk by chunk."""

    def __init__(self, index: int) -> None:
        self.finished = False
        self.failure: neutral.Failed | None = None
        """Set where there is no answer, or none that can be passed on."""
        self._index = index
        self._reason = ""
        self._texts: list[str] = []
        self._ids: set[str] = set()
        self._calls = 0
        self._sources: dict[tuple[str, int, int], str] = {}
        """Titles of what is cited, by address and place."""

    def take(self, candidate: fields.Candidate) -> list[Event]:
        """What a chunk tells of it. Raises UpstreamBroken for a call of a tool that is none."""
        events: list[Event] = []
        parts = candidate.content.parts if candidate.content is not None else None
        for part in parts or ():
            events += self._part(part)
            if self.failure is not None:
                return events
        if candidate.logprobs_result is not None:
            events += _logprobs(self._index, candidate.logprobs_result)
        if candidate.citation_metadata != NULL:
            self._cite(candidate.citation_metadata)
        reason = candidate.finish_reason
        if reason and reason != _UNFINISHED:
            self.finished = True
            self._reason = _REASONS.get(reason, "content_filter")
            if reason in _FAILURES:
                told = candidate.finish_message or f"the model {_FAILURES[reason]}; try again"
                self.failure = neutral.Failed(502, told, reason)
        return events

    def end(self, usual: str) -> list[Event]:
        """What is left once the answer is complete; ``usual`` is the reason where the server told none."""
        reason = self._reason or usual
        return [*self._cited(), neutral.Finished(self._index, "tool_calls" if reason == "stop" and self._calls else reason)]

    def _part(self, part: fields.Part) -> list[Event]:
        if part.function_call is not None:
            return self._call(part.function_call, part.thought_signature or "")
        for field, name in _NOT_TEXT.items():
            if getattr(part, field) is not None:
                told = f"the model answered with a part of type {name}, which no answer of a chat can hold"
                self.failure = neutral.Failed(502, f"{told}; ask one that answers in text", "unsupported_answer")
                return []
        events: list[Event] = []
        if part.text and part.thought:
            events.append(neutral.ThinkingDelta(self._index, part.text))
        elif part.text:
            self._texts.append(part.text)
            events.append(neutral.TextDelta(self._index, part.text))
        if part.thought_signature:
            events.append(neutral.ThinkingSignature(self._index, marked(part.thought_signature, DIALECT)))
        return events

    def _call(self, call: fields.Call, signature: str) -> list[Event]:
        arguments = bytes(call.args).decode() if call.args != NULL else "{}"
        if not call.name or not is_object(arguments):
            raise UpstreamBroken("the model's server sent a function call without a name, or with arguments that are no object")
        identity = call.id if call.id and call.id not in self._ids else f"call_{secrets.token_hex(12)}"
        self._ids.add(identity)
        number, self._calls = self._calls, self._calls + 1
        began = neutral.ToolCallBegan(self._index, number, identity, call.name, marked(signature, DIALECT) if signature else "")
        return [began, neutral.ToolArguments(self._index, number, arguments)]

    def _cite(self, raw: msgspec.Raw) -> None:
        try:
            told = fields.decode_citations(raw)
        except msgspec.ValidationError:
            return  # a hint where words come from; without it the answer is as good
        sources = (told.citation_sources or told.citations) if told is not None else None
        for source in sources or ():
            if source.uri:
                place = (source.uri, source.start_index or 0, source.end_index or 0)
                self._sources[place] = source.title or self._sources.get(place, "")

    def _cited(self) -> list[Event]:
        """The citations. Gemini tells their places in bytes of UTF-8, everybody else in characters."""
        text = "".join(self._texts).encode() if self._sources else b""
        return [
            neutral.Cited(self._index, url, title, _characters(text, start), _characters(text, end))
            for (url, start, end), title in self._sources.items()
        ]


def _characters(text: bytes, length: int) -> int:
    return len(text[: max(0, length)].decode("utf-8", "ignore"))


def _logprobs(index: int, told: fields.LogProbs) -> list[Event]:
    """Log-probabilities in OpenAI's shape."""
    tops = [top.candidates or [] for top in told.top_candidates or ()]
    content = [
        {**_token(token), "top_logprobs": [_token(other) for other in tops[place]] if place < len(tops) else []}
        for place, token in enumerate(told.chosen_candidates or ())
    ]
    return [neutral.LogProbs(index, msgspec.Raw(encode({"content": content, "refusal": None})))] if content else []


def _token(token: fields.Token) -> dict[str, Any]:
    return {"token": token.token, "logprob": token.log_probability, "bytes": list(token.token.encode())}
