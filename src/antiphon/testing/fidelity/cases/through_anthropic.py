"""Callers of Anthropic's messages in front of a server that speaks the same."""

from typing import Any

from antiphon.testing.fidelity.case import MESSAGES_ON_ANTHROPIC, Act, Case, Check, Group, Leave, Scene, Until
from antiphon.testing.fidelity.checks import (
    asked,
    blocks,
    calls,
    closed_soon,
    counts,
    does_not_look_whole,
    error_has,
    error_says,
    fails,
    finishes,
    has,
    keeps_ids,
    not_held_back,
    retry_after,
    said_before,
    says,
    sent,
    sent_messages,
    signed,
    some_object_has,
    tells_error,
    thinks,
)
from antiphon.testing.fidelity.words.anthropic import (
    HEADERS,
    REDACTED,
    SIGNATURE,
    ask,
    block,
    call,
    called,
    end,
    error,
    event,
    said,
    start,
    stream,
    streamed,
    text,
    thought,
    tool,
    user,
    whole,
)
from antiphon.testing.fidelity.words.openai import streams
from antiphon.testing.steps import Cut, Hang, Wire

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
TEXT = ("Grüße", ", 世界", " 🎼🧑‍🚀", " — ", "end")
HALF: tuple[Act, ...] = (start(), *text(0, "half an", " answer")[:-1])
USAGE = {
    "input_tokens": 40,
    "output_tokens": 7,
    "cache_read_input_tokens": 60,
    "cache_creation_input_tokens": 30,
    "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
    "service_tier": "standard",
}
CITATION = {
    "type": "char_location",
    "cited_text": "The sky is blue.",
    "document_index": 0,
    "document_title": "Sky",
    "start_char_index": 0,
    "end_char_index": 16,
}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sky"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "url": "https://example.com", "title": "Sky", "encrypted_content": "ZW5j", "page_age": None}
    ],
}
TURNS = [
    user(),
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I must ask.", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": REDACTED},
            said("Let me see."),
            called("toolu_1", city="Paris"),
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": [said("No sky."), said("Sorry.")]},
            {"type": "text", "text": "Try again.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
    },
]


def _case(name: str, right: str, body: Any, scene: Scene, *checks: Check, **more: Any) -> Case:
    return Case(
        id=f"anthropic-{name}",
        right=right,
        route=MESSAGES_ON_ANTHROPIC,
        headers=HEADERS,
        body=body,
        scene=scene,
        checks=checks,
        **more,
    )


def _sent(name: str, right: str, **fields: Any) -> Case:
    return _case(name, right, ask(**fields), whole(said()), sent(**fields), says("Here it is."))


GROUP = Group(
    name="anthropic",
    title="Anthropic's messages",
    about="Both sides speak Anthropic's dialect, so everything that it can say has to come through.",
    sources=(
        "Anthropic, Create a Message: https://docs.anthropic.com/en/api/messages",
        "Anthropic, Streaming Messages: https://docs.anthropic.com/en/docs/build-with-claude/streaming",
        "Anthropic, Extended thinking: https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking",
    ),
    cases=(
        _case("whole", "Text and reason come in one piece.", ask(), whole(said()), says("Here it is."), finishes("end_turn")),
        _case(
            "stream",
            "Streamed text comes to the letter, with its reason for the end.",
            stream(),
            streamed(text(0, *TEXT)),
            says("".join(TEXT)),
            finishes("end_turn"),
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
                *end(),
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
            "sequence",
            "The sequence that ended the answer is named.",
            ask(stop_sequences=["END"]),
            whole(said("Once"), stop_reason="stop_sequence", stop_sequence="END"),
            finishes("stop_sequence", stop="END"),
        ),
        _case(
            "sequence-stream",
            "The sequence that ended a stream is named.",
            stream(stop_sequences=["END"]),
            streamed(text(0, "Once"), reason="stop_sequence", stop="END"),
            finishes("stop_sequence", stop="END"),
        ),
        _case("pause", "`pause_turn` arrives.", ask(), whole(said("Once"), stop_reason="pause_turn"), finishes("pause_turn")),
        _case("refusal", "`refusal` arrives.", stream(), streamed(text(0, "I"), reason="refusal"), finishes("refusal")),
        _case(
            "tools",
            "Text and two calls come in a stream.",
            stream(tools=[tool()]),
            streamed(
                text(0, "Let me see."),
                call(1, "toolu_1", "weather", "", '{"city":', '"Paris"}'),
                call(2, "toolu_2", "weather", '{"city":"Rome"}'),
                reason="tool_use",
            ),
            says("Let me see."),
            calls(("weather", PARIS), ("weather", ROME)),
            keeps_ids("toolu_1", "toolu_2"),
            finishes("tool_use"),
        ),
        _case(
            "tools-whole",
            "A call comes in one piece.",
            ask(tools=[tool()]),
            whole(called("toolu_1", city="Paris"), stop_reason="tool_use"),
            calls(("weather", PARIS)),
            keeps_ids("toolu_1"),
        ),
        _case(
            "thinking",
            "Thinking comes with its signature, without which it cannot be sent back.",
            stream(thinking={"type": "enabled", "budget_tokens": 1024}),
            streamed(thought(0, "Three times", " three.", signature=SIGNATURE), text(1, "Nine.")),
            thinks("Three times three."),
            signed(SIGNATURE),
            says("Nine."),
        ),
        _case(
            "thinking-redacted",
            "Redacted thinking arrives.",
            ask(),
            whole({"type": "redacted_thinking", "data": REDACTED}, said("Nine.")),
            blocks({"type": "redacted_thinking", "data": REDACTED}, said("Nine.")),
        ),
        _case(
            "citations",
            "Citations arrive.",
            ask(),
            whole({**said("Blue."), "citations": [CITATION]}),
            blocks({**said("Blue."), "citations": [CITATION]}),
        ),
        _case(
            "citations-stream",
            "Citations arrive in a stream.",
            stream(),
            streamed(
                block(
                    0,
                    {"type": "text", "text": "", "citations": []},
                    {"type": "text_delta", "text": "Blue."},
                    {"type": "citations_delta", "citation": CITATION},
                )
            ),
            says("Blue."),
            some_object_has(delta={"type": "citations_delta", "citation": CITATION}),
        ),
        _case(
            "search",
            "What the server's own tools did arrives.",
            ask(),
            whole(SEARCH, FOUND, said("Blue.")),
            blocks(SEARCH, FOUND, said("Blue.")),
        ),
        _case("usage", "The usage arrives with all its fields.", ask(), whole(said(), usage=USAGE), counts(**USAGE)),
        _case(
            "usage-stream",
            "The usage of a stream arrives, cached tokens included.",
            stream(),
            streamed(text(0, "Once"), usage=USAGE),
            counts(input_tokens=40, output_tokens=7, cache_read_input_tokens=60, cache_creation_input_tokens=30),
        ),
        _case("object", "The answer is a message of the assistant.", ask(), whole(said()), has(type="message", role="assistant")),
        _sent("sampling", "`temperature`, `top_p` and `top_k` arrive.", temperature=0, top_p=0.5, top_k=5),
        _sent("stop", "`stop_sequences` arrive.", stop_sequences=["END", "。"]),
        _sent("metadata", "`metadata` arrives.", metadata={"user_id": "user-1234"}),
        _sent("budget", "`thinking` arrives.", thinking={"type": "enabled", "budget_tokens": 2048}, max_tokens=4096),
        _sent("no-thinking", "`thinking: disabled` arrives.", thinking={"type": "disabled"}),
        _sent(
            "system",
            "Blocks of the system arrive with their marks for the cache.",
            system=[{**said("Be brief."), "cache_control": {"type": "ephemeral"}}],
        ),
        _sent(
            "tool-choice",
            "Tools and choice arrive.",
            tools=[{**tool(), "cache_control": {"type": "ephemeral"}}],
            tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
        ),
        _sent(
            "server-tool",
            "A tool of the server arrives.",
            tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}],
        ),
        _case(
            "turns",
            "Thinking with signature, calls, failed results and marks for the cache arrive as they are.",
            {"max_tokens": 100, "messages": TURNS, "tools": [tool()]},
            whole(said()),
            sent_messages(*TURNS),
            says("Here it is."),
        ),
        _case(
            "document",
            "A document with citations arrives.",
            ask(
                [
                    {
                        "type": "document",
                        "source": {"type": "text", "media_type": "text/plain", "data": "The sky is blue."},
                        "title": "Sky",
                        "citations": {"enabled": True},
                    }
                ]
            ),
            whole(said()),
            sent_messages(
                user(
                    [
                        {
                            "type": "document",
                            "source": {"type": "text", "media_type": "text/plain", "data": "The sky is blue."},
                            "title": "Sky",
                            "citations": {"enabled": True},
                        }
                    ]
                )
            ),
        ),
        _case(
            "error",
            "An error keeps status, type and words.",
            ask(),
            error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            fails(400),
            error_has(type="invalid_request_error"),
            error_says("prompt is too long: 9 tokens > 8 maximum"),
        ),
        _case(
            "error-429",
            "A 429 keeps its `retry-after`.",
            ask(),
            error(429, "rate_limit_error", "Slow down.", "7"),
            fails(429),
            error_has(type="rate_limit_error"),
            retry_after(7),
        ),
        _case(
            "error-529",
            "`overloaded_error` is an error of the server's side.",
            stream(),
            error(529, "overloaded_error", "Overloaded."),
            fails(500, 502, 503, 504, 529),
            error_says("Overloaded."),
        ),
        _case(
            "error-event",
            "An event `error` inside the stream is told, and nothing follows.",
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
