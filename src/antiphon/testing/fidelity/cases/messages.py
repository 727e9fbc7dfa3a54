"""Callers of Anthropic's messages in front of a server that speaks OpenAI's protocol."""

from typing import Any

from antiphon.testing.fidelity.case import MARK, MESSAGES, Act, Case, Check, Group, Leave, Scene, Until
from antiphon.testing.fidelity.checks import (
    asked,
    calls,
    closed_soon,
    counts,
    does_not_look_whole,
    error_has,
    error_says,
    fails,
    finishes,
    has,
    has_error_object,
    is_of_type,
    not_held_back,
    own_ids,
    retry_after,
    said_before,
    says,
    sent,
    sent_either,
    sent_messages,
    sent_or_refused,
    sent_texts,
    some_object_has,
    tells_error,
    thinks,
)
from antiphon.testing.fidelity.matching import either
from antiphon.testing.fidelity.words import anthropic
from antiphon.testing.fidelity.words.anthropic import ask, stream
from antiphon.testing.fidelity.words.errors import refusal
from antiphon.testing.fidelity.words.openai import (
    call,
    delta,
    streamed,
    streams,
    text,
    token,
    user,
    whole,
    whole_call,
)
from antiphon.testing.steps import Cut, Done, Event, Hang, Wire

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
CACHED = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 60},
}
HALF = (delta(role="assistant", content=""), *text("half an", " answer"))
TEXT = ("Grüße", ", 世界", " 🎼🧑‍🚀", " — ", "end")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
USES = [
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": PARIS},
    {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": ROME},
]
TURNS = [
    anthropic.user(),
    {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *USES]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Sunny."},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "Grey."}]},
            {"type": "text", "text": "Which is nicer?"},
        ],
    },
]


def _case(name: str, right: str, body: Any, scene: Scene, *checks: Check, **more: Any) -> Case:
    return Case(
        id=f"messages-{name}", right=right, route=MESSAGES, headers=anthropic.HEADERS, body=body, scene=scene, checks=checks, **more
    )


def _asks(name: str, right: str, check: Check, **fields: Any) -> Case:
    return _case(name, right, ask(**fields), whole(), check, says("Here it is."))


def _two_calls(*acts: Act) -> Scene:
    return streamed(*acts, finish="tool_calls")


GROUP = Group(
    name="messages",
    title="Anthropic's messages before OpenAI's API",
    about="Callers speak Anthropic's dialect, the model's server OpenAI's. Streams are held to the order of events "
    "that Anthropic documents: blocks one after another, counted from zero, each event named by its type.",
    sources=(
        "Anthropic, Create a Message: https://docs.anthropic.com/en/api/messages",
        "Anthropic, Streaming Messages: https://docs.anthropic.com/en/docs/build-with-claude/streaming",
        "Anthropic, Errors: https://docs.anthropic.com/en/api/errors",
    ),
    cases=(
        _case("whole", "Text and reason come in one piece.", ask(), whole(), says("Here it is."), finishes("end_turn")),
        _case("object", "The answer is a message of the assistant.", ask(), whole(), has(type="message", role="assistant")),
        _case(
            "stream",
            "Streamed text comes to the letter, with its reason for the end.",
            stream(),
            streamed(*text(*TEXT)),
            says("".join(TEXT)),
            finishes("end_turn"),
        ),
        _case("stream-type", "A stream has its content type.", stream(), streamed(*text("One")), is_of_type("text/event-stream")),
        _case(
            "stream-at-once",
            "Text is passed on while the model is still speaking.",
            stream(),
            streamed(*text("first"), Until("first"), *text(" second")),
            says("first second"),
            not_held_back,
        ),
        _case(
            "cut",
            "A stream that comes byte by byte says the same.",
            stream(),
            streamed(*text(*TEXT), wire=Wire(write_size=1)),
            says("".join(TEXT)),
        ),
        _case(
            "finish-length",
            "`length` is `max_tokens` in a stream.",
            stream(),
            streamed(*text("Once"), finish="length"),
            says("Once"),
            finishes("max_tokens"),
        ),
        _case(
            "finish-length-whole",
            "`length` is `max_tokens` in an answer in one piece.",
            ask(),
            whole("Once", finish="length"),
            says("Once"),
            finishes("max_tokens"),
        ),
        _case(
            "tools",
            "A streamed call is put together.",
            stream(tools=[anthropic.tool()]),
            _two_calls(call(0, "", name="weather", call_id="call_1"), call(0, '{"city":'), call(0, '"Paris"}')),
            calls(("weather", PARIS)),
            finishes("tool_use"),
        ),
        _case(
            "tools-two",
            "Two streamed calls behind a text are three blocks.",
            stream(tools=[anthropic.tool()]),
            _two_calls(
                *text("Let me see."),
                call(0, "", name="weather", call_id="call_1"),
                call(0, '{"city":"Paris"}'),
                call(1, "", name="weather", call_id="call_2"),
                call(1, '{"city":"Rome"}'),
            ),
            says("Let me see."),
            calls(("weather", PARIS), ("weather", ROME)),
            own_ids,
        ),
        _case(
            "tools-mixed",
            "Two calls whose pieces are mixed come one after the other.",
            stream(tools=[anthropic.tool()]),
            _two_calls(
                call(0, "", name="weather", call_id="call_1"),
                call(1, "", name="weather", call_id="call_2"),
                call(0, '{"city":'),
                call(1, '{"city":"Rome"}'),
                call(0, '"Paris"}'),
            ),
            calls(("weather", PARIS), ("weather", ROME)),
            own_ids,
        ),
        _case(
            "tools-no-index",
            "Two complete calls without an index are two.",
            stream(tools=[anthropic.tool()]),
            _two_calls(
                call(None, '{"city":"Paris"}', name="weather", call_id="call_1"),
                call(None, '{"city":"Rome"}', name="weather", call_id="call_2"),
            ),
            calls(("weather", PARIS), ("weather", ROME)),
            own_ids,
        ),
        _case(
            "tools-index-restarts",
            "Two calls that both say index 0 are two, and the text between them is whole.",
            stream(tools=[anthropic.tool()]),
            _two_calls(
                *text("One "),
                call(0, '{"city":"Paris"}', name="weather", call_id="call_1"),
                *text("two."),
                call(0, '{"city":"Rome"}', name="weather", call_id="call_2"),
            ),
            says("One two."),
            calls(("weather", PARIS), ("weather", ROME)),
            own_ids,
        ),
        _case(
            "tools-whole",
            "Text and two calls come in one piece.",
            ask(tools=[anthropic.tool()]),
            whole("Let me see.", finish="tool_calls", tool_calls=[whole_call(), whole_call("time", '{"zone":"CET"}', "call_2")]),
            says("Let me see."),
            calls(("weather", PARIS), ("time", {"zone": "CET"})),
            finishes("tool_use"),
        ),
        _case(
            "tools-empty",
            "A call without arguments has an empty input.",
            ask(tools=[anthropic.tool()]),
            whole(None, finish="tool_calls", tool_calls=[whole_call("now", "{}")]),
            calls(("now", {})),
        ),
        _case(
            "usage",
            "The usage of an answer in one piece is told, and adds up.",
            ask(),
            whole(),
            counts(input_tokens=11, output_tokens=5),
        ),
        _case(
            "usage-stream",
            "The usage of a stream is told.",
            stream(),
            streamed(*text("Once")),
            counts(output_tokens=5),
            counts(input_tokens=11),
        ),
        _case(
            "usage-cached",
            "Cached tokens are counted apart, as Anthropic counts them.",
            ask(),
            whole(usage=CACHED),
            counts(input_tokens=40, output_tokens=7, cache_read_input_tokens=60),
        ),
        _case(
            "thinking",
            "Reasoning of the model's server comes as thinking, before the text.",
            stream(),
            streamed(delta(reasoning_content="Three times"), delta(reasoning_content=" three."), *text("Nine.")),
            thinks("Three times three."),
            says("Nine."),
        ),
        _case(
            "logprobs-harmless",
            "Log-probabilities, which Anthropic has not, do no harm.",
            stream(),
            streams(delta(content="Once", logprobs={"content": [token("Once", -0.5)]}), delta(finish="stop"), Done()),
            says("Once"),
            finishes("end_turn"),
        ),
        _asks(
            "system",
            "What the system says becomes a message.",
            sent_messages({"role": either("system", "developer"), "content": "Be brief."}, user()),
            system="Be brief.",
        ),
        _asks(
            "system-blocks",
            "What the system says in blocks arrives.",
            sent_texts(either("system", "developer"), "Be brief.", "Be kind."),
            system=[
                {"type": "text", "text": "Be brief."},
                {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}},
            ],
        ),
        _asks("max-tokens", "`max_tokens` arrives.", sent_either({"max_tokens": 100}, {"max_completion_tokens": 100})),
        _asks("sampling", "`temperature` and `top_p` arrive.", sent(temperature=0, top_p=0.5), temperature=0, top_p=0.5),
        _case("top-k", "`top_k` arrives, or is refused by name.", ask(top_k=5), whole(), sent_or_refused("top_k", 5)),
        _asks("stop", "`stop_sequences` arrive as `stop`.", sent(stop=either(["END", "。"])), stop_sequences=["END", "。"]),
        _asks(
            "tools-sent",
            "Tools arrive as functions.",
            sent(
                tools=[
                    {
                        "type": "function",
                        "function": {
                            "name": "weather",
                            "description": "Tells the weather.",
                            "parameters": anthropic.tool()["input_schema"],
                        },
                    }
                ]
            ),
            tools=[anthropic.tool()],
        ),
        _asks(
            "choice-any",
            "`tool_choice: any` is `required`.",
            sent(tool_choice="required"),
            tools=[anthropic.tool()],
            tool_choice={"type": "any"},
        ),
        _asks(
            "choice-tool",
            "A tool that must be used arrives by name.",
            sent(tool_choice={"type": "function", "function": {"name": "weather"}}),
            tools=[anthropic.tool()],
            tool_choice={"type": "tool", "name": "weather"},
        ),
        _asks(
            "choice-none",
            "`tool_choice: none` arrives.",
            sent(tool_choice="none"),
            tools=[anthropic.tool()],
            tool_choice={"type": "none"},
        ),
        _asks(
            "parallel",
            "`disable_parallel_tool_use` is `parallel_tool_calls: false`.",
            sent(parallel_tool_calls=False),
            tools=[anthropic.tool()],
            tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        ),
        _case(
            "image",
            "Images arrive, as data and by address.",
            ask(
                [
                    {"type": "text", "text": "Which?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                ]
            ),
            whole(),
            sent_messages(
                user(
                    [
                        {"type": "text", "text": "Which?"},
                        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                    ]
                )
            ),
        ),
        _case(
            "results",
            "Results of tools become messages of their own behind the calls, before what the user says.",
            {"max_tokens": 100, "messages": TURNS, "tools": [anthropic.tool()]},
            whole(),
            sent_messages(
                user(),
                {"role": "assistant", "content": "Let me see.", "tool_calls": [{"id": "toolu_1"}, {"id": "toolu_2"}]},
                {"role": "tool", "tool_call_id": "toolu_1", "content": "Sunny."},
                {"role": "tool", "tool_call_id": "toolu_2", "content": "Grey."},
                {"role": "user", "content": "Which is nicer?"},
            ),
        ),
        _case(
            "unicode",
            "Characters are kept in both directions.",
            ask("世界 🎼 cafe\u0301 \u200b"),
            whole("世界 🎼 cafe\u0301 \u200b"),
            sent_messages({"role": "user", "content": f"世界 🎼 cafe\u0301 \u200b {MARK}"}),
            says("世界 🎼 cafe\u0301 \u200b"),
        ),
        _case(
            "error",
            "A 400 of the model's server is one of Anthropic's shape, with its words.",
            ask(),
            refusal(400, "It is too long.", code="context_length_exceeded"),
            fails(400),
            error_has(type="invalid_request_error"),
            error_says("It is too long."),
        ),
        _case(
            "error-429",
            "A 429 is a `rate_limit_error`, with its `retry-after`.",
            stream(),
            refusal(429, "Slow down.", retry_after="7"),
            fails(429),
            error_has(type="rate_limit_error"),
            retry_after(7),
        ),
        _case(
            "error-500",
            "A 500 is an error of the server's side.",
            ask(),
            refusal(500, "Broken.", kind="server_error"),
            fails(500, 502, 503, 504, 529),
        ),
        _case(
            "error-event",
            "An error inside the server's stream is an event `error`.",
            stream(),
            streams(*HALF, Event({"error": {"message": "On fire.", "type": "server_error", "param": None, "code": None}})),
            said_before("half an answer"),
            does_not_look_whole,
            tells_error,
        ),
        _case(
            "fail-cut",
            "A stream that is cut does not end in `message_stop`.",
            stream(),
            streams(*HALF, Until("answer"), Cut(reset=True)),
            said_before("half an answer"),
            does_not_look_whole,
        ),
        _case(
            "fail-no-finish",
            "A stream that ends without a reason for its end does not end in `message_stop`.",
            stream(),
            streams(*HALF),
            said_before("half an answer"),
            does_not_look_whole,
        ),
        _case(
            "leave",
            "The model's server sees within two seconds that the caller has left.",
            stream(),
            streams(*text("one", " two"), Hang()),
            closed_soon,
            asked(1),
            caller=Leave("two"),
        ),
        _case(
            "no-messages",
            "A request without messages is refused in Anthropic's shape.",
            {"max_tokens": 9, "metadata": {"user_id": MARK}},
            whole(),
            fails(400, 422),
            has_error_object,
        ),
        _case(
            "stream-stop",
            "A stream ends in `message_stop`, and has told its reason before.",
            stream(),
            streamed(*text("Once")),
            some_object_has(type="message_delta", delta={"stop_reason": "end_turn"}),
            some_object_has(type="message_stop"),
        ),
    ),
)
