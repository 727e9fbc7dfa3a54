"""Where callers say something in their requests, in any dialect: all that a model will read, but for names, ids and files."""

from collections.abc import Iterator
from typing import Any, Final

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire.said import Spot

_FIELDS: Final = (
    "messages", "system", "prompt", "suffix", "input", "instructions", "query", "documents", "texts", "tools",
    "functions", "prediction",
)  # fmt: skip
"""Fields of a request that hold texts, whichever dialect it is in."""
_NO_TEXT: Final = frozenset(
    (
        "type", "role", "id", "name", "model", "call_id", "tool_call_id", "tool_use_id", "item_id", "file_id", "image_url", "url",
        "images", "media_type", "mime_type", "format", "filename", "file_data", "signature", "encrypted_content", "cache_control",
        "detail", "status", "input_audio", "response_format", "thinking", "redacted_thinking", "server_label",
        "server_url", "headers", "authorization", "container",
    )
)  # fmt: skip
"""Fields anywhere within them that are no texts: what names something, carries a file, or is signed."""
_WHOLE: Final = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
"""Types of which ``input`` is a value of the caller's, whose fields may be called anything."""


def asked(request: dict[str, Any]) -> Iterator[Spot]:
    """All texts of a request. Raises InvalidRequest for one that is written as ids of tokens, which nobody can read."""
    for field in _FIELDS:
        if field in request:
            if field in ("tools", "functions"):
                yield from _descriptions(request[field])
            else:
                yield from _at(request, field)


def _at(holder: Any, key: Any) -> Iterator[Spot]:
    value = holder[key]
    if isinstance(value, str):
        if value:
            yield Spot(holder, key, "json" if key == "arguments" else "text")
    elif isinstance(value, list):
        if value and isinstance(value[0], int) and not isinstance(value[0], bool):
            raise InvalidRequest(
                f"`{key}` is a list of token ids, which the guardrails of this server cannot read", remedy="send it as a text"
            )
        for place in range(len(value)):
            yield from _at(value, place)
    elif isinstance(value, dict):
        yield from _within(value)


def _within(value: dict[str, Any]) -> Iterator[Spot]:
    kind = value.get("type")
    for key, each in value.items():
        if (key == "input" and kind in _WHOLE) or (key == "arguments" and isinstance(each, dict)):
            yield Spot(value, key, "tree")
        elif key == "data":
            if kind == "text" and isinstance(each, str):  # a document that is a text
                yield Spot(value, key)
        elif key not in _NO_TEXT:
            yield from _at(value, key)


def _descriptions(value: Any) -> Iterator[Spot]:
    """What tools say of themselves; the rest is a schema."""
    if isinstance(value, list):
        for each in value:
            yield from _descriptions(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key == "description" and isinstance(each, str):
                yield Spot(value, key)
            else:
                yield from _descriptions(each)
