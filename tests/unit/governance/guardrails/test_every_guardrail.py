import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.guardrail import Guardrail
from antiphon.core.plugins import PluginGroup

PLUGINS = PluginGroup("antiphon.guardrails", "antiphon.governance.guardrails")
USED: dict[str, dict[str, Any]] = {
    "banned_words": {"words": (*("a" * count for count in range(1, 9)), "坏词", "ab")},
    "language": {"allowed": ("zh",)},
    "json_schema": {"schema": {"type": "array"}},
}
"""Options of those that do nothing without."""
GUARDRAILS: dict[str, Guardrail] = {
    name: PLUGINS.load(name).make(PLUGINS.load(name).options(**USED.get(name, {}))) for name in PLUGINS.names()
}
REPEATED = (
    *(
        "1",
        "1 ",
        "12-",
        "@",
        "a@",
        "a@b.",
        ".",
        "1.",
        "1.1.1.1 ",
        " ",
        "(",
        "[",
        "{",
        '"',
        "\n",
        "=",
        ":1",
        "::",
        "://",
        "a",
        "Ab ",
        "A1" * 32 + "\n",
    ),
    *(
        "http://a",
        "sk-",
        "eyJ",
        "password=",
        "password: aa1 ",
        "-----BEGIN",
        "John Smith ",
        "12 Main ",
        "4111 1111 1111 1111 ",
        "DE89 3704 0044 ",
        "AA11",
    ),
    *(
        "王小明",
        "号",
        "路1号",
        "住在",
        "我叫",
        "京A",
        "忽略",
        "系统提示",
        "怎么杀",
        "how to kill ",
        "kill someone ",
        "ignore all previous ",
        "you are without ",
    ),
    *(
        "system: ",
        "base64 ",
        "\u0301",
        "e\u0301",
        "ﬀ",
        "İ",
        "i g n o r e ",
        "1a",
        "![a](https://",
        "а",
        "\U000e0041",
        "\ud800",
        "<|",
        "my boss's ",
    ),
)
CHARACTERS = 100_000
SECONDS = 15.0
"""Processor time that no text of that many characters takes: a tenth of it is usual, and what grows with the square takes hours."""


@pytest.mark.parametrize("name", GUARDRAILS)
def test_repeats_take_time_in_proportion(name: str) -> None:
    for piece in REPEATED:
        begin = time.process_time()
        GUARDRAILS[name].find(piece * (CHARACTERS // len(piece)))
        assert time.process_time() - begin < SECONDS, piece


@pytest.mark.parametrize("name", GUARDRAILS)
@given(text=st.lists(st.sampled_from(REPEATED) | st.text(st.characters(), max_size=4), max_size=30).map("".join))
@settings(deadline=None)
def test_findings_are_in_order_and_none_overlaps_another(name: str, text: str) -> None:
    end = 0
    for each in GUARDRAILS[name].find(text):
        assert end <= each.begin < each.end <= len(text)
        assert each.kind.isupper()
        assert 0 < each.score <= 1
        end = each.end


@pytest.mark.parametrize("name", PLUGINS.names())
def test_a_plugin_says_what_it_is(name: str) -> None:
    plugin = PLUGINS.load(name)
    assert plugin.mode in {"observe", "mask", "block", "review"}
    assert plugin.input or plugin.output
    assert plugin.microseconds > 0
    assert all(type(name).__doc__ is not None for name in (plugin.options(), plugin.make(plugin.options())))
