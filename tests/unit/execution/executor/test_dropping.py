"""Fields that are left out because the caller allowed it: however many there are, few attempts are made."""

import json
from typing import Any

import pytest

from antiphon.core.types import Call
from antiphon.execution.executor import translation
from antiphon.testing.matrix.cells import providers

TOOL = {"type": "function", "function": {"name": "f", "parameters": {}, "strict": True}}


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that a field was left out and the request was written anew."""
    told: list[str] = []
    without = translation._without

    def counted(request: Any, param: str, others: Any = ()) -> Any:
        told.append(param)
        return without(request, param, others)

    monkeypatch.setattr(translation, "_without", counted)
    return told


def call_with(**more: Any) -> Call:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **more}
    return Call("id", "chat/completions", "m", json.dumps(body).encode(), drops=True, dropped=[], trail=[])


@pytest.mark.parametrize("protocol", ["anthropic", "gemini", "ollama", "dashscope", "bedrock"])
def test_thousands_of_unknown_fields_are_left_out_at_once(attempts: list[str], protocol: str) -> None:
    names = [f"unknown{number}" for number in range(5000)]
    call = call_with(**dict.fromkeys(names, 1))
    translation.translated(call, providers()[protocol], "its-own-name")
    assert call.dropped == names
    assert len(attempts) == 1


def test_thousands_of_strict_tools_are_asked_for_at_once(attempts: list[str]) -> None:
    call = call_with(tools=[TOOL] * 3000)
    translation.translated(call, providers()["ollama"], "its-own-name")
    assert call.dropped == [f"tools[{number}].strict" for number in range(3000)]
    assert len(attempts) == 1
