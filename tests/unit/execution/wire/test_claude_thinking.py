"""How each generation of Claude is told to think, by Anthropic's API and by Bedrock's."""

import json
from typing import Any

import pytest

from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.anthropic.thinking import style_of
from antiphon.execution.wire.bedrock.chat import CONVERSE
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.openai import chat as openai

ABLE = ChatAbilities(reasoning="budget", max_tokens=4096)
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
SIGNED = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
ADAPTIVE = {"type": "adaptive"}


def told(model: str, **fields: Any) -> dict[str, Any]:
    """What is said of thinking to Anthropic, which is also what is said to Bedrock."""
    asked = {"model": model, "max_tokens": 50_000, "messages": [{"role": "user", "content": "hi"}], **fields}
    request = openai.decode_request(json.dumps(asked).encode())
    direct = json.loads(anthropic.OUTBOUND_CHAT.encode_request(request, ABLE))
    found = {name: direct[name] for name in ("thinking", "output_config") if name in direct}
    if style_of(model):
        bedrock = json.loads(CONVERSE.encode_request(request, ABLE))
        assert bedrock.get("additionalModelRequestFields", {}) == found
    return found


@pytest.mark.parametrize(
    ("model", "style"),
    [
        ("claude-3-5-sonnet-20241022", ""),
        ("claude-3-7-sonnet-20250219", "budget"),
        ("claude-opus-4-20250514", "budget"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "budget"),
        ("claude-opus-4-6", "adaptive"),
        ("anthropic/claude-opus-4.7", "adaptive"),
        ("claude-sonnet-5", "adaptive"),
        ("claude-2.1", ""),
        ("gpt-5", "effort"),
        ("claude-latest", "effort"),
    ],
)
def test_generations_are_told_apart_by_their_names(model: str, style: str) -> None:
    assert style_of(model, unknown="effort") == style


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "high", {}),
        ("anthropic.claude-sonnet-4-5", "high", {"thinking": {"type": "enabled", "budget_tokens": 16384}}),
        ("anthropic.claude-sonnet-4-5", "none", {"thinking": {"type": "disabled"}}),
        ("anthropic.claude-opus-4-6", "high", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        ("anthropic.claude-opus-4-6", "xhigh", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        ("anthropic.claude-opus-4-7", "xhigh", {"thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}}),
        ("anthropic.claude-opus-4-7", "minimal", {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
        ("anthropic.claude-opus-4-7", "none", {"thinking": {"type": "disabled"}}),
        ("glm-4.7", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
    ],
)
def test_how_much_to_think(model: str, effort: str, expected: dict[str, Any]) -> None:
    assert told(model, reasoning_effort=effort) == expected


@pytest.mark.parametrize(
    ("model", "answer", "thinks"),
    [
        ("anthropic.claude-sonnet-4-5", {"tool_calls": [CALL]}, False),
        ("anthropic.claude-sonnet-4-5", {"tool_calls": [CALL], "thinking_blocks": SIGNED}, True),
        ("anthropic.claude-sonnet-4-5", {"content": "Well."}, True),
        ("anthropic.claude-opus-4-7", {"tool_calls": [CALL]}, True),
    ],
)
def test_a_call_whose_thought_was_lost_is_gone_on_with_unthinking(model: str, answer: dict[str, Any], thinks: bool) -> None:
    result = (
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"}
        if "tool_calls" in answer
        else {"role": "user", "content": "?"}
    )
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", **answer}, result]
    assert ("thinking" in told(model, messages=messages, tools=[TOOL], reasoning_effort="high")) is thinks
