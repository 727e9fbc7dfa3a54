"""What a caller asks and its server understands, what the server answers and the caller hears: plain facts without a dialect."""

from typing import Any

import msgspec

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one pixel, base64."""
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
"""A sound without samples, base64."""
PDF = "JVBERi0xLjQKJSVFT0YK"
"""A file without pages, base64."""
PDF_NAME = "a.pdf"
"""What the file is called, where a dialect wants to know."""


class Tool(msgspec.Struct, frozen=True):
    """Something that may be called."""

    name: str
    schema: dict[str, Any]
    description: str = "What it does."


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool. ``arguments`` is JSON, decoded."""

    name: str
    arguments: Any
    id: str = ""


class Turn(msgspec.Struct, frozen=True):
    """One message. ``image`` is a URL or base64 of a PNG, ``audio`` base64 of a WAV, ``document`` base64 of a PDF."""

    role: str
    text: str = ""
    image: str = ""
    audio: str = ""
    document: str = ""
    calls: tuple[ToolCall, ...] = ()
    result_of: ToolCall | None = None


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request; None and empty say nothing. Also what a server understood of one."""

    system: str = ""
    turns: tuple[Turn, ...] = (Turn("user", "hello"),)
    tools: tuple[Tool, ...] = ()
    tool_choice: str = ""
    """``auto``, ``none``, ``required`` or the name of a tool."""
    parallel_tools: bool | None = None
    schema: dict[str, Any] | None = None
    json_object: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool = False
    effort: str = ""
    """How much to think: ``low``, ``medium`` or ``high``."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answers; also what a caller heard."""

    texts: tuple[str, ...] = ()
    """Pieces, joined where the answer is not streamed."""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    """``stop``, ``length``, ``tool_calls`` or ``content_filter``."""
    prompt_tokens: int = 11
    """Those that came from a cache among them."""
    completion_tokens: int = 7
    """Those that were thought among them."""
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    logprobs: bool = False
    choices: int = 1


class Failure(msgspec.Struct, frozen=True):
    """An error that a server tells, or that a caller heard."""

    status: int
    message: str
