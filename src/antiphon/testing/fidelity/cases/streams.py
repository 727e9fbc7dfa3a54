"""Streamed text."""

from antiphon.testing.fidelity.case import Act, Case, Group, Until
from antiphon.testing.fidelity.checks import (
    calls,
    ends_with_done,
    every_object_has,
    finish_comes_last,
    finishes,
    is_of_type,
    not_held_back,
    one_value_of,
    refuses,
    says,
    some_object_has,
)
from antiphon.testing.fidelity.words.openai import call, chunk, delta, stream, streamed, streams, text, usage_chunk
from antiphon.testing.steps import Delay, Done


def _heard(word: str) -> list[Act]:
    return [*text(word), Until(word)]


STORY = ("Once", " upon", " a", " time", ".")
WHOLE = "".join(STORY)
HEARD_ONE_BY_ONE = [scene for word in ("alpha", "beta", "gamma", "delta") for scene in _heard(word)]
NUMBERS = tuple(f" {number}" for number in range(500))

GROUP = Group(
    name="stream",
    title="Streamed text",
    about="The plain stream: every piece of text in order, one reason for the end, and the end itself.",
    sources=(
        "OpenAI API reference, The chat completion chunk object: https://platform.openai.com/docs/api-reference/chat-streaming",
        "OpenAI API reference, Create chat completion, `stream`: https://platform.openai.com/docs/api-reference/chat/create",
    ),
    cases=(
        Case(
            id="stream-text",
            right="The pieces of a streamed text come in order and to the letter.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(says(WHOLE),),
        ),
        Case(
            id="stream-done",
            right="The stream ends in `data: [DONE]`, once, with nothing behind it.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(says(WHOLE), ends_with_done),
        ),
        Case(
            id="stream-type",
            right="A stream has the content type `text/event-stream`.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(says(WHOLE), is_of_type("text/event-stream")),
        ),
        Case(
            id="stream-object",
            right="Every event is an object `chat.completion.chunk`.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(says(WHOLE), every_object_has(object="chat.completion.chunk")),
        ),
        Case(
            id="stream-one-id",
            right="All events of a stream have the same id.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(one_value_of("id", str),),
        ),
        Case(
            id="stream-one-time",
            right="All events of a stream have the same time of creation.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(one_value_of("created", int),),
        ),
        Case(
            id="stream-role",
            right="A stream says that the assistant speaks.",
            body=stream(),
            scene=streamed(*text(*STORY)),
            checks=(some_object_has(choices=[{"delta": {"role": "assistant"}}]),),
        ),
        Case(
            id="stream-at-once",
            right="The first piece of text is passed on while the model is still speaking.",
            body=stream(),
            scene=streamed(*text("first"), Until("first"), *text(" second")),
            checks=(says("first second"), not_held_back),
        ),
        Case(
            id="stream-each-at-once",
            right="Every piece of text is passed on when it comes, not with the next one.",
            body=stream(),
            scene=streamed(*HEARD_ONE_BY_ONE, *text(" end")),
            checks=(says("alphabetagammadelta end"), not_held_back),
        ),
        Case(
            id="stream-pause",
            right="A model that pauses for some seconds is waited for.",
            body=stream(),
            scene=streamed(*text("before"), Delay(2.5), *text(" after")),
            checks=(says("before after"), finishes("stop")),
        ),
        Case(
            id="stream-order",
            right="Five hundred pieces come in order, none twice and none lost.",
            body=stream(),
            scene=streamed(*text(*NUMBERS)),
            checks=(says("".join(NUMBERS)),),
        ),
        Case(
            id="stream-blanks",
            right="Pieces of nothing but blanks, tabs and line ends are text like any other.",
            body=stream(),
            scene=streamed(*text("a", " ", "\n", "\n\n", "\t", "  ", "b", "\n")),
            checks=(says("a \n\n\n\t  b\n"),),
        ),
        Case(
            id="stream-empty-delta",
            right="An empty delta in the middle of a stream changes nothing.",
            body=stream(),
            scene=streamed(*text("one"), delta(), delta(content=""), *text(" two")),
            checks=(says("one two"), finishes("stop")),
        ),
        Case(
            id="stream-nothing-said",
            right="An answer without any text is an answer.",
            body=stream(),
            scene=streamed(),
            checks=(says(""), finishes("stop")),
        ),
        Case(
            id="stream-finish-stop",
            right="The reason `stop` arrives.",
            body=stream(),
            scene=streamed(*text(*STORY), finish="stop"),
            checks=(says(WHOLE), finishes("stop")),
        ),
        Case(
            id="stream-finish-length",
            right="The reason `length` arrives: the answer was cut at the limit.",
            body=stream(max_tokens=5),
            scene=streamed(*text(*STORY), finish="length"),
            checks=(says(WHOLE), finishes("length")),
        ),
        Case(
            id="stream-finish-filter",
            right="The reason `content_filter` arrives.",
            body=stream(),
            scene=streamed(*text("Once"), finish="content_filter"),
            checks=(says("Once"), finishes("content_filter")),
        ),
        Case(
            id="stream-finish-tools",
            right="The reason `tool_calls` arrives.",
            body=stream(),
            scene=streamed(call(0, "{}", name="now", call_id="call_1"), finish="tool_calls"),
            checks=(calls(("now", {})), finishes("tool_calls")),
        ),
        Case(
            id="stream-finish-last",
            right="The reason for the end is null until the last piece, also where the server leaves the field out.",
            body=stream(),
            scene=streams(*(chunk({"index": 0, "delta": {"content": piece}}) for piece in STORY), delta(finish="length"), Done()),
            checks=(says(WHOLE), finish_comes_last, finishes("length")),
        ),
        Case(
            id="stream-finish-with-text",
            right="A reason for the end that comes with the last piece of text is not lost, nor is the text.",
            body=stream(),
            scene=streams(*text("Once"), delta(content=" more", finish="length"), Done()),
            checks=(says("Once more"), finishes("length")),
        ),
        Case(
            id="stream-refusal",
            right="The pieces of a refusal come as a refusal, not as text.",
            body=stream(),
            scene=streamed(delta(refusal="I cannot"), delta(refusal=" do that.")),
            checks=(says(""), refuses("I cannot do that.")),
        ),
        Case(
            id="stream-fingerprint",
            right="`system_fingerprint` of the model's server arrives.",
            body=stream(seed=1),
            scene=streams(delta(content="Once", more={"system_fingerprint": "fp_44709d6fcb"}), delta(finish="stop"), Done()),
            checks=(says("Once"), some_object_has(system_fingerprint="fp_44709d6fcb")),
        ),
        Case(
            id="stream-tier",
            right="`service_tier` of the model's server arrives.",
            body=stream(service_tier="auto"),
            scene=streams(delta(content="Once", more={"service_tier": "flex"}), delta(finish="stop"), Done()),
            checks=(says("Once"), some_object_has(service_tier="flex")),
        ),
        Case(
            id="stream-without-done",
            right="Where the model's server forgets `[DONE]` behind a complete answer, the caller gets it all the same.",
            body=stream(),
            scene=streamed(*text(*STORY), done=False),
            checks=(says(WHOLE), finishes("stop"), ends_with_done),
        ),
        Case(
            id="stream-after-done",
            right="What the model's server sends behind `[DONE]` is not passed on.",
            body=stream(),
            scene=streams(*text(*STORY), delta(finish="stop"), Done(), *text(" and more"), usage_chunk()),
            checks=(says(WHOLE), ends_with_done),
        ),
    ),
)
