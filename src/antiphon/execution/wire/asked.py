"""Where callers say something in their requests, in any dialect: all that a model may read, but for names, ids and files."""

import json
from collections.abc import Iterator
from typing import Any, Final

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire.said import Spot

_SETTINGS: Final = frozenset(
    (
        "model", "user", "metadata", "safety_identifier", "prompt_cache_key", "previous_response_id", "conversation",
        "service_tier", "session_id", "stream_options", "tool_choice", "function_call", "modalities", "reasoning_effort",
        "verbosity", "include", "truncation", "keep_alive", "encoding_format", "input_type", "voice", "size", "quality", "style",
        "background", "output_format", "betas", "container", "mcp_servers",
    )
)  # fmt: skip
"""Fields of a request that no model reads. All others are looked at, also those that are not known here."""
_SCHEMAS: Final = frozenset(("tools", "functions", "response_format", "text", "format", "output_config", "options"))
"""Fields that describe what there is to call and what an answer must look like."""
_TOKENS: Final = frozenset(("prompt", "input", "prompt_token_ids", "prompt_embeds"))
_NO_TEXT: Final = frozenset(
    (
        "type", "id", "name", "model", "call_id", "tool_call_id", "tool_use_id", "item_id", "file_id", "image_url", "url", "images",
        "media_type", "mime_type", "format", "filename", "file_data", "signature", "encrypted_content", "cache_control", "detail",
        "status", "input_audio", "redacted_thinking", "server_label", "server_url", "headers", "authorization", "container",
    )
)  # fmt: skip
"""Fields anywhere within them that are no texts: what names something, carries a file, or is signed."""
_NO_TEXT_OF_SCHEMAS: Final = frozenset(
    ("type", "name", "$ref", "$schema", "$id", "format", "strict", "required", "cache_control", "server_url", "headers")
)
_ROLES: Final = frozenset(("system", "developer", "user", "assistant", "tool", "function", "model", "critic", "discriminator"))
_WHOLE: Final = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
"""Types of which ``input`` is a value of the caller's, whose fields may be called anything."""


def read_request(body: bytes) -> dict[str, Any]:
    """A request as it can be looked at: one in which each field stands once. Raises InvalidRequest for another one.

    Of a field that stands twice, one server reads the first and another the last.
    """
    try:
        request = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InvalidRequest("the request body cannot be read by the guardrails", remedy="nest it less deeply") from None
    return request if isinstance(request, dict) else {}


def continues(request: dict[str, Any]) -> bool:
    """Whether a request goes on from texts that were said in an earlier call, and are not in it."""
    if request.get("previous_response_id") or request.get("conversation"):
        return True
    items = request.get("input")
    return isinstance(items, list) and any(
        isinstance(item, dict) and item.get("type") in (None, "item_reference") and "id" in item and "content" not in item
        for item in items
    )


def asked(request: dict[str, Any]) -> Iterator[Spot]:
    """All texts of a request. Raises InvalidRequest for one that is written as ids of tokens, which nobody can read."""
    for field, value in request.items():
        if field in _TOKENS:
            _refuse_tokens(field, value)
        if field in _SCHEMAS:
            yield from _schema(request, field)
        elif field == "documents":
            yield Spot(request, field, "tree")
        elif field not in _SETTINGS:
            yield from _at(request, field)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRequest(f"the field `{twice[:100]}` stands there twice", remedy="leave one of them out", param=twice[:100])
    return found


def _refuse_tokens(field: str, value: Any) -> None:
    """Raises InvalidRequest where numbers stand in the place of a text."""
    if not isinstance(value, list):
        return
    if field not in ("prompt", "input") or any(isinstance(each, int | float) for each in value):
        raise InvalidRequest(
            f"`{field}` has token ids or vectors, which the guardrails of this server cannot read",
            remedy="send it as a text",
            param=field,
        )
    for each in value:
        _refuse_tokens(field, each)


def _at(holder: Any, key: Any) -> Iterator[Spot]:
    value = holder[key]
    if isinstance(value, str):
        if value:
            yield Spot(holder, key, "json" if key == "arguments" else "text")
    elif isinstance(value, list):
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
        elif key == "role":
            if each not in _ROLES:
                yield from _at(value, key)
        elif key not in _NO_TEXT and not (key == "thinking" and "signature" in value):
            yield from _at(value, key)


def _schema(holder: Any, key: Any) -> Iterator[Spot]:
    """What descriptions of tools and answers say, in whatever field of them."""
    value = holder[key]
    if isinstance(value, str):
        if value:
            yield Spot(holder, key)
    elif isinstance(value, list):
        for place in range(len(value)):
            yield from _schema(value, place)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in _NO_TEXT_OF_SCHEMAS or isinstance(each, dict):
                yield from _schema(value, name)
