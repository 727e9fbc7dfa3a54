"""Callers of Ollama's chat in front of a server that speaks OpenAI's protocol."""

from typing import Any

from antiphon.testing.fidelity.case import MARK, OLLAMA, Case, Check, Group, Leave, Scene, Until
from antiphon.testing.fidelity.checks import (
    asked,
    calls,
    closed_soon,
    counts,
    fails_in_words,
    finishes,
    not_held_back,
    says,
    sent,
    sent_either,
    thinks,
)
from antiphon.testing.fidelity.matching import either
from antiphon.testing.fidelity.words.errors import refusal
from antiphon.testing.fidelity.words.openai import call, delta, streamed, streams, text, tool, user, whole, whole_call
from antiphon.testing.steps import Hang, Wire

TEXT = ("Grüße", ", 世界", " 🎼🧑‍🚀", "end")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PARIS = {"city": "Paris"}
SAID = {"type": "text", "text": f"Say it. {MARK}"}
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}


def _ask(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages) or [user()], **more}


def _case(name: str, right: str, body: Any, scene: Scene, *checks: Check, **more: Any) -> Case:
    return Case(id=f"ollama-{name}", right=right, route=OLLAMA, body=body, scene=scene, checks=checks, **more)


GROUP = Group(
    name="ollama",
    title="Ollama's chat before OpenAI's API",
    about="Callers speak Ollama's dialect, which streams lines of JSON unless told otherwise, the model's server OpenAI's.",
    sources=("Ollama, API, Generate a chat completion: https://github.com/ollama/ollama/blob/main/docs/api.md",),
    cases=(
        _case("whole", "Text comes in one piece.", _ask(stream=False), whole(), says("Here it is."), finishes("stop")),
        _case(
            "stream",
            "Without `stream` an answer is streamed, and its last line alone is done.",
            _ask(),
            streamed(*text(*TEXT)),
            says("".join(TEXT)),
            finishes("stop"),
        ),
        _case(
            "stream-at-once",
            "Text is passed on while the model is still speaking.",
            _ask(),
            streamed(*text("first"), Until("first"), *text(" second")),
            says("first second"),
            not_held_back,
        ),
        _case(
            "cut",
            "A stream that comes byte by byte says the same.",
            _ask(),
            streamed(*text(*TEXT), wire=Wire(write_size=1)),
            says("".join(TEXT)),
        ),
        _case(
            "length",
            "The reason `length` arrives.",
            _ask(),
            streamed(*text("Once"), finish="length"),
            says("Once"),
            finishes("length"),
        ),
        _case(
            "tools",
            "A call has an object as its arguments.",
            _ask(tools=[tool()], stream=False),
            whole(None, finish="tool_calls", tool_calls=[whole_call()]),
            calls(("weather", PARIS)),
        ),
        _case(
            "tools-stream",
            "A streamed call comes whole.",
            _ask(tools=[tool()]),
            streamed(call(0, "", name="weather", call_id="call_1"), call(0, '{"city":'), call(0, '"Paris"}'), finish="tool_calls"),
            calls(("weather", PARIS)),
        ),
        _case("usage", "The last line counts tokens.", _ask(), streamed(*text("Once")), counts(prompt_eval_count=11, eval_count=5)),
        _case(
            "thinking",
            "Reasoning comes as `thinking`.",
            _ask(),
            streamed(delta(reasoning_content="Three."), *text("Nine.")),
            thinks("Three."),
            says("Nine."),
        ),
        _case(
            "options",
            "Options arrive as parameters.",
            _ask(stream=False, options={"temperature": 0, "top_p": 0.5, "seed": 7, "stop": ["END"]}),
            whole(),
            sent(temperature=0, top_p=0.5, seed=7, stop=either(["END"], "END")),
        ),
        _case(
            "num-predict",
            "`num_predict` is the longest answer.",
            _ask(stream=False, options={"num_predict": 50}),
            whole(),
            sent_either({"max_tokens": 50}, {"max_completion_tokens": 50}),
        ),
        _case(
            "images",
            "Images arrive.",
            _ask({**user(), "images": [PNG]}, stream=False),
            whole(),
            sent(messages=[{"role": "user", "content": either([PICTURE, SAID], [SAID, PICTURE])}]),
        ),
        _case(
            "error", "An error has a status and words.", _ask(), refusal(400, "It is too long."), fails_in_words("It is too long.")
        ),
        _case(
            "leave",
            "The model's server sees within two seconds that the caller has left.",
            _ask(),
            streams(*text("one", " two"), Hang()),
            closed_soon,
            asked(1),
            caller=Leave("two"),
        ),
    ),
)
