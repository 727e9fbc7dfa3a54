"""Parameters: what the caller sets is what the model's server gets."""

from typing import Any

from antiphon.testing.fidelity.case import Case, Check, Group
from antiphon.testing.fidelity.checks import (
    adds_nothing,
    says,
    sends_nothing_of,
    sent,
    sent_either,
    sent_messages,
    sent_or_refused,
)
from antiphon.testing.fidelity.matching import either
from antiphon.testing.fidelity.words.openai import ask, stream, streamed, text, tool, user, whole

WEATHER = {"type": "function", "function": {"name": "weather"}}
TOOLS = [tool(strict=True), tool("time", "zone")]


def _sent(name: str, right: str, check: Check | None = None, **fields: Any) -> Case:
    """These fields arrive."""
    return Case(
        id=f"param-{name}", right=right, body=ask(**fields), scene=whole(), checks=(check or sent(**fields), says("Here it is."))
    )


def _vendors(name: str, right: str, field: str, value: Any) -> Case:
    """A field of a vendor arrives, or is refused by name."""
    return Case(id=f"param-{name}", right=right, body=ask(**{field: value}), scene=whole(), checks=(sent_or_refused(field, value),))


def _roles(name: str, right: str, *messages: dict[str, Any], expected: list[dict[str, Any]] | None = None) -> Case:
    return Case(
        id=f"param-{name}",
        right=right,
        body={"messages": list(messages)},
        scene=whole(),
        checks=(sent_messages(*(expected or messages)), says("Here it is.")),
    )


GROUP = Group(
    name="param",
    title="Parameters",
    about="The gateway is told that the server speaks OpenAI's protocol, so every documented parameter arrives with "
    "its value. A parameter that only some servers know arrives or is refused by name; what is left out in "
    "silence is an answer to another question. Equal spellings count as equal: `max_tokens` and "
    "`max_completion_tokens`, `system` and `developer`, a stop sequence and a list with it.",
    sources=("OpenAI API reference, Create chat completion: https://platform.openai.com/docs/api-reference/chat/create",),
    cases=(
        _sent("temperature", "`temperature` arrives.", temperature=0.7),
        _sent("temperature-zero", "A temperature of zero is not taken for none.", temperature=0),
        _sent("number", "A number keeps all its digits.", temperature=0.30000000000000004),
        _sent("top-p", "`top_p` arrives.", top_p=0.1),
        _sent("penalties", "Penalties arrive, also negative ones.", presence_penalty=-0.5, frequency_penalty=1.25),
        _sent("seed", "`seed` arrives.", seed=42),
        _sent("seed-zero", "A seed of zero is not taken for none.", seed=0),
        _sent("seed-large", "A seed of 53 bits keeps all its digits.", seed=9_007_199_254_740_991),
        _sent("bias", "`logit_bias` arrives.", logit_bias={"50256": -100, "11": 5}),
        _sent("stop", "`stop` as a text arrives.", sent(stop=either("END", ["END"])), stop="END"),
        _sent("stop-list", "`stop` as a list arrives.", stop=["END", "\n\n", "###", "Human:"]),
        _sent("max-tokens", "`max_tokens` arrives.", sent_either({"max_tokens": 50}, {"max_completion_tokens": 50}), max_tokens=50),
        _sent(
            "max-completion-tokens",
            "`max_completion_tokens` arrives.",
            sent_either({"max_completion_tokens": 50}, {"max_tokens": 50}),
            max_completion_tokens=50,
        ),
        _sent("user", "`user` arrives.", user="user-1234"),
        _sent("safety-identifier", "`safety_identifier` arrives.", safety_identifier="hashed-1234"),
        _sent("metadata", "`metadata` arrives.", metadata={"team": "search", "purpose": "tests"}, store=True),
        _sent("store", "`store` arrives, also false.", store=False),
        _sent("tier", "`service_tier` arrives.", service_tier="flex"),
        _sent("verbosity", "`verbosity` arrives.", verbosity="low"),
        _sent("cache-key", "`prompt_cache_key` arrives.", prompt_cache_key="conversation-7"),
        _sent("prediction", "`prediction` arrives.", prediction={"type": "content", "content": "Here it was."}),
        _sent("search", "`web_search_options` arrive.", web_search_options={"search_context_size": "low"}),
        _sent(
            "modalities", "`modalities` and `audio` arrive.", modalities=["text", "audio"], audio={"voice": "ash", "format": "wav"}
        ),
        _sent("tools", "Tools arrive with description, schema and `strict`.", tools=TOOLS),
        _sent(
            "custom-tool",
            "A custom tool with a grammar arrives.",
            tools=[
                {
                    "type": "custom",
                    "custom": {
                        "name": "sum",
                        "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[0-9]+"}},
                    },
                }
            ],
        ),
        _sent("choice-auto", "`tool_choice: auto` arrives.", tools=TOOLS, tool_choice="auto"),
        _sent("choice-none", "`tool_choice: none` arrives.", tools=TOOLS, tool_choice="none"),
        _sent("choice-required", "`tool_choice: required` arrives.", tools=TOOLS, tool_choice="required"),
        _sent("choice-named", "A tool that must be called arrives by name.", tools=TOOLS, tool_choice=WEATHER),
        _sent(
            "choice-allowed",
            "A choice among allowed tools arrives.",
            tools=TOOLS,
            tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [WEATHER]}},
        ),
        _sent("parallel", "`parallel_tool_calls: false` arrives.", tools=TOOLS, parallel_tool_calls=False),
        _sent(
            "functions",
            "The older `functions` and `function_call` arrive.",
            functions=[tool()["function"]],
            function_call={"name": "weather"},
        ),
        _sent(
            "null",
            "A parameter that is null is as good as none.",
            sends_nothing_of("temperature", "stop", "tools"),
            temperature=None,
            stop=None,
            tools=None,
        ),
        Case(
            id="param-nothing-added",
            right="What the caller does not set, the gateway does not set for it.",
            body=ask(),
            scene=whole(),
            checks=(adds_nothing, says("Here it is.")),
        ),
        Case(
            id="param-stream",
            right="Parameters arrive with a stream too.",
            body=stream(temperature=0, seed=7, stop=["END"], tools=TOOLS, tool_choice="none", logit_bias={"11": 5}),
            scene=streamed(*text("Once")),
            checks=(
                sent(stream=True, temperature=0, seed=7, stop=["END"], tools=TOOLS, tool_choice="none", logit_bias={"11": 5}),
                says("Once"),
            ),
        ),
        _vendors("top-k", "`top_k`, which many servers of open models know, arrives or is refused by name.", "top_k", 40),
        _vendors("min-p", "`min_p`, of llama.cpp and vLLM, arrives or is refused by name.", "min_p", 0.05),
        _vendors(
            "repetition", "`repetition_penalty`, of vLLM, SGLang and TGI, arrives or is refused by name.", "repetition_penalty", 1.1
        ),
        _vendors("thinking", "`enable_thinking`, of Qwen, arrives or is refused by name.", "enable_thinking", False),
        _vendors(
            "template",
            "`chat_template_kwargs`, of vLLM, arrives or is refused by name.",
            "chat_template_kwargs",
            {"enable_thinking": False},
        ),
        _vendors(
            "unknown",
            "A parameter that nobody has heard of arrives or is refused by name.",
            "a_field_of_tomorrow",
            {"x": [1, None, "ü"]},
        ),
        _roles("system", "What the system says arrives first, as such.", {"role": "system", "content": "Be brief."}, user()),
        _roles(
            "developer",
            "What the developer says arrives, as such or as the system's.",
            {"role": "developer", "content": "Be brief."},
            user(),
            expected=[{"role": either("developer", "system"), "content": "Be brief."}, user()],
        ),
        _roles(
            "name",
            "Names of those who speak arrive.",
            {"role": "user", "content": "Hello.", "name": "Ada"},
            {"role": "assistant", "content": "Hello, Ada."},
            {**user(), "name": "Grace"},
        ),
        _roles(
            "history",
            "A conversation arrives turn by turn, also where one speaks twice in a row.",
            {"role": "system", "content": "Be brief."},
            *({"role": "user" if at % 3 else "assistant", "content": f"Turn {at}."} for at in range(20)),
            user(),
        ),
        _roles(
            "late-system",
            "A system message in the middle stays where it is.",
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hello."},
            {"role": "system", "content": "From now on in French."},
            user(),
        ),
    ),
)
