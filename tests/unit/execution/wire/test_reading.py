"""How much JSON a request may have, by what it costs to read it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire.openai.passthrough import parse_head
from antiphon.execution.wire.reading import MAX_VALUES, check_size

TEXTS = [
    "",
    "x",
    '"',
    "\\",
    '\\"',
    '"\\',
    "\\\\",
    '\\\\"',
    "{[",
    '"{"',
    "a\nb",
    "\u00e9",
    "{}" * 200_000,
    '\\"' * 200_001,
    "\\" * 300_001,
]
"""Texts that look like more than one value, or like less."""
SHAPES: dict[str, Callable[[int], Any]] = {
    "texts": lambda count: ["" for _ in range(count)],
    "long texts": lambda count: ["some words" for _ in range(count)],
    "lists": lambda count: [[] for _ in range(count)],
    "objects": lambda count: [{} for _ in range(count)],
    "fields": lambda count: [{str(number): number for number in range(count - 1)}],
}


@pytest.mark.parametrize(
    ("shape", "text", "indent"), [*((shape, "x", 1) for shape in SHAPES), *(("objects", text, None) for text in TEXTS)]
)
def test_as_many_values_as_allowed_and_no_more(shape: str, text: str, indent: int | None) -> None:
    for count in (MAX_VALUES - 8, MAX_VALUES - 7):  # beside these there are four names and texts, the whole, two lists, the text
        told = {"model": "m", "text": [text], "more": SHAPES[shape](count)}
        body = json.dumps(told, ensure_ascii=False, indent=indent).encode()
        assert values_in(told) == 8 + count
        if values_in(told) <= MAX_VALUES:
            check_size(body)
            continue
        with pytest.raises(InvalidRequest, match="more than 150000") as raised:
            check_size(body)
        assert "fewer" in raised.value.remedy


def values_in(told: Any) -> int:
    """Texts, names, lists and objects, counted one by one."""
    if isinstance(told, dict):
        return 1 + sum(1 + values_in(value) for value in told.values())
    if isinstance(told, list):
        return 1 + sum(map(values_in, told))
    return int(isinstance(told, str))


def test_numbers_do_not_count() -> None:
    """A list of tokens is one value: servers take some hundred thousand of them."""
    check_size(json.dumps({"model": "m", "input": [list(range(300_000))]}).encode())


@pytest.mark.parametrize("body", [b'{"a":"' + b"\\" * 600_001, b'"' * 600_001, b'{"a":"' + b'\\"' * 600_001, b'"\\' * 400_001])
def test_what_is_no_json_is_counted_in_linear_time(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_head(body)


def test_a_large_conversation_is_read() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"path": "a/b", "more": [1, {}]}' * 20}}
    turns = [
        {"role": "user", "content": [{"type": "text", "text": 'Say "yes" {or} [no].' * 20}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "{" * 400},
    ]
    schema = {"type": "object", "properties": {f"field{number}": {"type": "string", "description": "d"} for number in range(50)}}
    tools = [{"type": "function", "function": {"name": f"f{number}", "parameters": schema}} for number in range(128)]
    body = json.dumps({"model": "m", "messages": turns * 1500, "tools": tools}).encode()
    assert parse_head(body).model == "m"
