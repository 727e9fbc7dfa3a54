"""Callers of OpenAI's chat completions in front of a server that speaks Anthropic's protocol."""

from typing import Any

from antiphon.testing.fidelity.case import CHAT_ON_ANTHROPIC, MARK, Case, Check, Group, Leave, Scene, Until
from antiphon.testing.fidelity.checks import (
    asked,
    calls,
    closed_soon,
    counts,
    does_not_look_whole,
    ends_with_done,
    error_says,
    every_object_has,
    fails,
    finish_comes_last,
    finishes,
    has_number,
    no_usage,
    not_held_back,
    one_usage_event,
    own_ids,
    refused,
    retry_after,
    said_before,
    says,
    sent,
    sent_messages,
    tells_error,
    thinks,
)
from antiphon.testing.fidelity.matching import ABSENT, either
from antiphon.testing.fidelity.words import anthropic
from antiphon.testing.fidelity.words.anthropic import (
    block,
    call,
    called,
    error,
    event,
    said,
    start,
    streamed,
    text,
    thought,
    whole,
)
from antiphon.testing.fidelity.words.openai import ask, stream, streams, tool, user, whole_call
from antiphon.testing.steps import Cut, Hang, Wire

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
TEXT = ("Grüße", ", 世界", " 🎼🧑‍🚀", " — ", "end")
HALF = (start(), *text(0, "half an", " answer")[:-1])
CACHED = {"input_tokens": 40, "output_tokens": 7, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 0}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TWO_CALLS = {"role": "assistant", "content": None, "tool_calls": [whole_call(), whole_call("weather", '{"city":"Rome"}', "call_2")]}
ASKED = anthropic.user()


def _texts(text: str) -> Any:
    return either(text, [said(text)])


def _case(name: str, right: str, body: Any, scene: Scene, *checks: Check, **more: Any) -> Case:
    return Case(id=f"claude-{name}", right=right, route=CHAT_ON_ANTHROPIC, body=body, scene=scene, checks=checks, **more)


def _asks(name: str, right: str, check: Check, **fields: Any) -> Case:
    return _case(name, right, ask(**fields), whole(said()), check, says("Here it is."))


def _turns(name: str, right: str, check: Check, *messages: dict[str, Any], **fields: Any) -> Case:
    return _case(name, right, {"messages": list(messages), **fields}, whole(said()), check, says("Here it is."))


def _refused(name: str, right: str, field: str, **fields: Any) -> Case:
    return _case(name, right, ask(**fields), whole(said()), refused(field))


GROUP = Group(
    name="claude",
    title="Chat completions before Anthropic's API",
    about="Callers speak OpenAI's dialect, the model's server Anthropic's. What Anthropic's API has a word for "
    "arrives; what it has none for, and what would change the answer, is refused by name.",
    sources=(
        "Anthropic, Create a Message: https://docs.anthropic.com/en/api/messages",
        "Anthropic, Streaming Messages: https://docs.anthropic.com/en/docs/build-with-claude/streaming",
        "OpenAI API reference, The chat completion chunk object: https://platform.openai.com/docs/api-reference/chat-streaming",
    ),
    cases=(
        _case("whole", "Text and reason come in one piece.", ask(), whole(said()), says("Here it is."), finishes("stop")),
        _case(
            "stream",
            "Streamed text comes to the letter, with its reason for the end.",
            stream(),
            streamed(text(0, *TEXT)),
            says("".join(TEXT)),
            finishes("stop"),
        ),
        _case(
            "stream-done",
            "The stream ends in `data: [DONE]`, once, with nothing behind it.",
            stream(),
            streamed(text(0, *TEXT)),
            says("".join(TEXT)),
            ends_with_done,
        ),
        _case(
            "stream-object",
            "Every event is a chunk, and only the last has a reason for the end.",
            stream(),
            streamed(text(0, *TEXT)),
            every_object_has(object="chat.completion.chunk"),
            finish_comes_last,
        ),
        _case(
            "stream-at-once",
            "Text is passed on while the model is still speaking.",
            stream(),
            streams(
                start(),
                *text(0, "first")[:-1],
                Until("first"),
                *block(0, {}, {"type": "text_delta", "text": " second"})[1:],
                *anthropic.end(),
            ),
            says("first second"),
            not_held_back,
        ),
        _case(
            "cut",
            "A stream that comes byte by byte says the same.",
            stream(),
            streamed(text(0, *TEXT), wire=Wire(write_size=1)),
            says("".join(TEXT)),
        ),
        _case(
            "cut-crlf",
            "A stream with CRLF in reads of seven bytes says the same.",
            stream(),
            streamed(text(0, *TEXT), wire=Wire(write_size=7, newline="\r\n")),
            says("".join(TEXT)),
        ),
        _case(
            "finish-length",
            "`max_tokens` is `length`.",
            stream(),
            streamed(text(0, "Once"), reason="max_tokens"),
            says("Once"),
            finishes("length"),
        ),
        _case(
            "finish-sequence",
            "`stop_sequence` is `stop`.",
            stream(stop="END"),
            streamed(text(0, "Once"), reason="stop_sequence", stop="END"),
            finishes("stop"),
        ),
        _case(
            "finish-refusal",
            "`refusal` is `content_filter`.",
            ask(),
            whole(said("I"), stop_reason="refusal"),
            finishes("content_filter"),
        ),
        _case(
            "tools",
            "A streamed call is put together.",
            stream(tools=[tool()]),
            streamed(call(0, "toolu_1", "weather", "", '{"city":', '"Paris"}'), reason="tool_use"),
            calls(("weather", PARIS)),
            finishes("tool_calls"),
        ),
        _case(
            "tools-text-around",
            "Calls are counted 0, 1, 2 whatever blocks of text stand around them, and the text is whole.",
            stream(tools=[tool()]),
            streamed(
                text(0, "One "),
                call(1, "toolu_1", "weather", '{"city":"Paris"}'),
                text(2, "two "),
                call(3, "toolu_2", "weather", '{"city":"Rome"}'),
                call(4, "toolu_3", "now", "{}"),
                text(5, "three."),
                reason="tool_use",
            ),
            says("One two three."),
            calls(("weather", PARIS), ("weather", ROME), ("now", {})),
            own_ids,
        ),
        _case(
            "tools-no-input",
            "A call without input, for which Anthropic sends no delta, has `{}` as its arguments, which parse.",
            stream(tools=[tool()]),
            streamed(call(0, "toolu_1", "now"), reason="tool_use"),
            calls(("now", {})),
        ),
        _case(
            "tools-whole",
            "Text and two calls come in one piece.",
            ask(tools=[tool()]),
            whole(said("Let me see."), called("toolu_1", city="Paris"), called("toolu_2", city="Rome"), stop_reason="tool_use"),
            says("Let me see."),
            calls(("weather", PARIS), ("weather", ROME)),
            own_ids,
            finishes("tool_calls"),
        ),
        _case(
            "tools-cut",
            "The arguments of a call survive being cut byte by byte.",
            stream(tools=[tool()]),
            streamed(call(0, "toolu_1", "weather", '{"city":"世', '界 🎼"}'), reason="tool_use", wire=Wire(write_size=1)),
            calls(("weather", {"city": "世界 🎼"})),
        ),
        _case(
            "usage",
            "The usage of an answer in one piece is told, and adds up.",
            ask(),
            whole(said()),
            counts(prompt_tokens=11, completion_tokens=5, total_tokens=16),
        ),
        _case(
            "usage-stream",
            "The usage of a stream is told once, where it was asked for.",
            stream(usage=True),
            streamed(text(0, "Once")),
            says("Once"),
            one_usage_event,
            counts(prompt_tokens=11, completion_tokens=5, total_tokens=16),
        ),
        _case(
            "usage-not-asked",
            "The usage of a stream is not told where it was not asked for.",
            stream(),
            streamed(text(0, "Once")),
            says("Once"),
            no_usage,
        ),
        _case(
            "usage-cached",
            "Cached tokens are part of the prompt, as OpenAI counts them.",
            ask(),
            whole(said(), usage=CACHED),
            counts(prompt_tokens=100, completion_tokens=7, total_tokens=107, prompt_tokens_details={"cached_tokens": 60}),
        ),
        _case(
            "thinking",
            "Streamed thinking comes as reasoning, apart from the text.",
            stream(),
            streamed(thought(0, "Three times", " three."), text(1, "Nine.")),
            thinks("Three times three."),
            says("Nine."),
        ),
        _case(
            "thinking-whole",
            "Thinking in one piece comes as reasoning, apart from the text.",
            ask(),
            whole({"type": "thinking", "thinking": "Three times three.", "signature": anthropic.SIGNATURE}, said("Nine.")),
            thinks("Three times three."),
            says("Nine."),
        ),
        _turns(
            "system",
            "What the system says moves to its own field.",
            sent(system=_texts("Be brief."), messages=[{"role": "user"}]),
            {"role": "system", "content": "Be brief."},
            user(),
        ),
        _turns(
            "developer",
            "What the developer says moves to the field of the system.",
            sent(system=_texts("Be brief."), messages=[{"role": "user"}]),
            {"role": "developer", "content": "Be brief."},
            user(),
        ),
        _asks("max-tokens", "`max_tokens` arrives.", sent(max_tokens=50), max_tokens=50),
        _asks(
            "max-completion-tokens",
            "`max_completion_tokens` arrives as `max_tokens`.",
            sent(max_tokens=50),
            max_completion_tokens=50,
        ),
        _asks(
            "max-tokens-none",
            "Anthropic demands `max_tokens`, so there is one where the caller gives none.",
            has_number("max_tokens"),
        ),
        _asks("sampling", "`temperature` and `top_p` arrive.", sent(temperature=0, top_p=0.5), temperature=0, top_p=0.5),
        _asks("stop", "`stop` as a text arrives as a list.", sent(stop_sequences=["END"]), stop="END"),
        _asks("stop-list", "`stop` as a list arrives.", sent(stop_sequences=["END", "。"]), stop=["END", "。"]),
        _asks(
            "user",
            "`user` arrives as `metadata.user_id`, or is left out.",
            sent(metadata=either({"user_id": "user-1234"}, ABSENT)),
            user="user-1234",
        ),
        _asks(
            "tools-sent",
            "Tools arrive with description and schema.",
            sent(
                tools=[{"name": "weather", "description": "Tells the weather.", "input_schema": tool()["function"]["parameters"]}]
            ),
            tools=[tool()],
        ),
        _asks(
            "choice-required",
            "`tool_choice: required` is `any`.",
            sent(tool_choice={"type": "any"}),
            tools=[tool()],
            tool_choice="required",
        ),
        _asks(
            "choice-named",
            "A tool that must be called arrives by name.",
            sent(tool_choice={"type": "tool", "name": "weather"}),
            tools=[tool()],
            tool_choice={"type": "function", "function": {"name": "weather"}},
        ),
        _asks(
            "parallel",
            "`parallel_tool_calls: false` is `disable_parallel_tool_use`.",
            sent(tool_choice={"disable_parallel_tool_use": True}),
            tools=[tool()],
            tool_choice="auto",
            parallel_tool_calls=False,
        ),
        _case(
            "images",
            "Images arrive, as data and by address.",
            ask(
                [
                    {"type": "text", "text": "Which?"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                ]
            ),
            whole(said()),
            sent_messages(
                anthropic.user(
                    [
                        {"type": "text", "text": "Which?"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                    ]
                )
            ),
        ),
        _turns(
            "results",
            "Calls become blocks with input as an object, and the results of both one message of the user.",
            sent_messages(
                ASKED,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "name": "weather", "input": PARIS},
                        {"type": "tool_use", "name": "weather", "input": ROME},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "content": either("Sunny.", [said("Sunny.")])},
                        {"type": "tool_result", "content": either("Grey.", [said("Grey.")])},
                        said("Which is nicer?"),
                    ],
                },
            ),
            user(),
            TWO_CALLS,
            {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."},
            {"role": "tool", "tool_call_id": "call_2", "content": "Grey."},
            {"role": "user", "content": "Which is nicer?"},
            tools=[tool()],
        ),
        _case(
            "broken-arguments",
            "Arguments in the history that are not JSON cannot become an input: they are refused with the name of the field.",
            {
                "messages": [
                    user(),
                    {"role": "assistant", "content": None, "tool_calls": [whole_call("weather", '{"city": "Par')]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."},
                ],
                "tools": [tool()],
            },
            whole(said()),
            refused("arguments"),
        ),
        _refused("n", "Two answers at once, which Anthropic does not give, are refused by name.", "n", n=2),
        _refused("logprobs", "Log-probabilities, which Anthropic does not tell, are refused by name.", "logprobs", logprobs=True),
        _refused("bias", "`logit_bias`, which Anthropic does not know, is refused by name.", "logit_bias", logit_bias={"11": -100}),
        _case(
            "unicode",
            "Characters are kept in both directions.",
            ask("世界 🎼 cafe\u0301 \u200b"),
            whole(said("世界 🎼 cafe\u0301 \u200b")),
            sent_messages({"role": "user", "content": f"世界 🎼 cafe\u0301 \u200b {MARK}"}),
            says("世界 🎼 cafe\u0301 \u200b"),
        ),
        _case(
            "error",
            "An error of Anthropic's shape becomes one of OpenAI's, with its words.",
            ask(),
            error(400, "invalid_request_error", "It is too long."),
            fails(400),
            error_says("It is too long."),
        ),
        _case(
            "error-429",
            "A 429 keeps its `retry-after`.",
            stream(),
            error(429, "rate_limit_error", "Slow down.", "7"),
            fails(429),
            retry_after(7),
        ),
        _case(
            "error-529",
            "`overloaded_error` is an error of the server's side.",
            ask(),
            error(529, "overloaded_error", "Overloaded."),
            fails(500, 502, 503, 504, 529),
            error_says("Overloaded."),
        ),
        _case(
            "error-event",
            "An event `error` inside the stream is told.",
            stream(),
            streams(*HALF, event("error", error={"type": "overloaded_error", "message": "Overloaded."})),
            said_before("half an answer"),
            does_not_look_whole,
            tells_error,
        ),
        _case(
            "fail-cut",
            "A stream that is cut does not look whole.",
            stream(),
            streams(*HALF, Until("answer"), Cut(reset=True)),
            said_before("half an answer"),
            does_not_look_whole,
        ),
        _case(
            "fail-no-stop",
            "A stream that ends in good order without its last events does not look whole.",
            stream(),
            streams(*HALF),
            said_before("half an answer"),
            does_not_look_whole,
        ),
        _case(
            "leave",
            "The model's server sees within two seconds that the caller has left.",
            stream(),
            streams(*HALF, Hang()),
            closed_soon,
            asked(1),
            caller=Leave("answer"),
        ),
    ),
)
