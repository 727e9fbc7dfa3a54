"""The fields of Gemini's answers that are read; all others are skipped.

Shapes after Google's API reference, "Generating content" (v1beta), and its Python SDK.
"""

from typing import Any, Final

import msgspec

from antiphon.execution.wire.reading import NULL, Count


class Call(msgspec.Struct):
    """A call of a tool."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = NULL


class Part(msgspec.Struct, rename="camel"):
    """Words, a thought, a call, or what no answer of a chat can hold."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: Call | None = None
    inline_data: Any = None
    file_data: Any = None
    executable_code: Any = None
    code_execution_result: Any = None


class Content(msgspec.Struct):
    """What a candidate says."""

    parts: list[Part] | None = None


class Token(msgspec.Struct, rename="camel"):
    """A token, and how likely it was."""

    token: str = ""
    log_probability: float = 0.0


class TopTokens(msgspec.Struct):
    """Those that might have stood in its place."""

    candidates: list[Token] | None = None


class LogProbs(msgspec.Struct, rename="camel"):
    """How likely the words were."""

    chosen_candidates: list[Token] | None = None
    top_candidates: list[TopTokens] | None = None


class Source(msgspec.Struct, rename="camel"):
    """Where a stretch of the words comes from."""

    uri: str | None = None
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class Citations(msgspec.Struct, rename="camel"):
    """All such stretches."""

    citation_sources: list[Source] | None = None
    citations: list[Source] | None = None
    """Vertex AI's name for them."""


class Candidate(msgspec.Struct, rename="camel"):
    """One of the alternatives of an answer, or what a chunk adds to it."""

    index: int | None = None
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    logprobs_result: LogProbs | None = None
    citation_metadata: msgspec.Raw = NULL


class Feedback(msgspec.Struct, rename="camel"):
    """What is wrong with the prompt."""

    block_reason: str | None = None


class OfModality(msgspec.Struct, rename="camel"):
    """Tokens of one modality."""

    modality: str | None = None
    token_count: Count | None = None


class Usage(msgspec.Struct, rename="camel"):
    """What was used."""

    prompt_token_count: Count | None = None
    cached_content_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    tool_use_prompt_token_count: Count | None = None
    total_token_count: Count | None = None
    prompt_tokens_details: list[OfModality] | None = None
    candidates_tokens_details: list[OfModality] | None = None


class Answer(msgspec.Struct, rename="camel"):
    """A whole answer, or a chunk of a streamed one."""

    candidates: list[Candidate] | None = None
    prompt_feedback: Feedback | None = None
    usage_metadata: msgspec.Raw = NULL
    response_id: str | None = None
    model_version: str | None = None
    error: Any = None


decode_answer: Final = msgspec.json.Decoder(Answer).decode
decode_usage: Final = msgspec.json.Decoder(Usage | None).decode
decode_citations: Final = msgspec.json.Decoder(Citations | None).decode
