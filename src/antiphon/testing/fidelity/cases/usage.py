"""The usage: told once where it was asked for, never where it was not."""

from antiphon.testing.fidelity.case import Case, Group
from antiphon.testing.fidelity.checks import (
    calls,
    counts,
    finishes,
    no_usage,
    one_usage_event,
    says,
    usage_event_has_no_choices,
)
from antiphon.testing.fidelity.words.openai import (
    USAGE,
    ask,
    call,
    chunk,
    delta,
    stream,
    streamed,
    streams,
    text,
    usage_chunk,
    whole,
)
from antiphon.testing.steps import Done, Wire

DETAILS = {
    "prompt_tokens": 262_960,
    "completion_tokens": 1_744,
    "total_tokens": 264_704,
    "prompt_tokens_details": {"cached_tokens": 257_955, "audio_tokens": 12},
    "completion_tokens_details": {
        "reasoning_tokens": 1_024,
        "audio_tokens": 7,
        "accepted_prediction_tokens": 3,
        "rejected_prediction_tokens": 2,
    },
}
BEGUN = (delta(role="assistant", content=""), *text("Once", " upon"))
SAYS = says("Once upon")
END = delta(finish="stop")
ASKED = stream(usage=True)
RIGHT = (SAYS, one_usage_event, counts(**USAGE), finishes("stop"))


def _partial(count: int) -> dict[str, int]:
    return {"prompt_tokens": 11, "completion_tokens": count, "total_tokens": 11 + count}


GROUP = Group(
    name="usage",
    title="Usage",
    about="Whoever asks for the usage of a stream gets it once, in an event of its own with empty choices before "
    "`[DONE]`, wherever the model's server tells it. Whoever does not ask does not get it, though the gateway "
    "may have asked for itself.",
    sources=(
        "OpenAI API reference, `stream_options.include_usage`: https://platform.openai.com/docs/api-reference/chat/create",
        "OpenAI API reference, The chat completion chunk object, `usage`: https://platform.openai.com/docs/api-reference/chat-streaming",
        "Groq, API reference, `x_groq.usage` of the last event: https://console.groq.com/docs/api-reference",
        "Moonshot, Chat, `usage` inside the choice: https://platform.moonshot.ai/docs/api/chat",
        "vLLM, OpenAI-compatible server, `continuous_usage_stats`: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    ),
    cases=(
        Case(
            id="usage-asked",
            right="A usage that was asked for is told once, by the last event.",
            body=ASKED,
            scene=streamed(*text("Once", " upon")),
            checks=RIGHT,
        ),
        Case(
            id="usage-no-choices",
            right="The event that tells the usage has `choices: []`.",
            body=ASKED,
            scene=streamed(*text("Once", " upon")),
            checks=(usage_event_has_no_choices,),
        ),
        Case(
            id="usage-not-asked",
            right="A usage that was not asked for is not told, also where the gateway asked the model's server for it.",
            body=stream(),
            scene=streamed(*text("Once", " upon")),
            checks=(SAYS, no_usage, finishes("stop")),
        ),
        Case(
            id="usage-refused",
            right="`include_usage: false` is the same as not asking.",
            body=stream(stream_options={"include_usage": False}),
            scene=streamed(*text("Once", " upon")),
            checks=(SAYS, no_usage, finishes("stop")),
        ),
        Case(
            id="usage-unbidden",
            right="A server that tells it unasked is not quoted.",
            body=stream(),
            scene=streams(*BEGUN, END, usage_chunk(), Done()),
            checks=(SAYS, no_usage, finishes("stop")),
        ),
        Case(
            id="usage-null-before",
            right="`usage: null` in all events before is not a usage.",
            body=ASKED,
            scene=streams(
                delta(role="assistant", content="", more={"usage": None}),
                delta(content="Once upon", more={"usage": None}),
                delta(finish="stop", more={"usage": None}),
                usage_chunk(),
                Done(),
            ),
            checks=RIGHT,
        ),
        Case(
            id="usage-with-finish",
            right="A usage told beside the reason for the end still comes in an event of its own.",
            body=ASKED,
            scene=streams(*BEGUN, delta(finish="stop", more={"usage": USAGE}), Done()),
            checks=RIGHT,
        ),
        Case(
            id="usage-with-finish-not-asked",
            right="Where a usage that was not asked for stands beside the reason for the end, the reason arrives "
            "and the usage does not.",
            body=stream(),
            scene=streams(*BEGUN, delta(finish="stop", more={"usage": USAGE}), Done()),
            checks=(SAYS, no_usage, finishes("stop")),
        ),
        Case(
            id="usage-in-every-event",
            right="A usage told by every event as it grows is passed on once, with the last numbers.",
            body=ASKED,
            scene=streams(
                delta(content="Once", more={"usage": _partial(1)}),
                delta(content=" upon", more={"usage": _partial(2)}),
                delta(finish="stop", more={"usage": _partial(3)}),
                usage_chunk(),
                Done(),
            ),
            checks=RIGHT,
        ),
        Case(
            id="usage-twice",
            right="A usage told twice is passed on once, with the last numbers.",
            body=ASKED,
            scene=streams(*BEGUN, END, usage_chunk(_partial(2)), usage_chunk(), Done()),
            checks=RIGHT,
        ),
        Case(
            id="usage-with-finish-and-again",
            right="A usage told beside the reason for the end and by an event of its own is passed on once.",
            body=ASKED,
            scene=streams(*BEGUN, delta(finish="stop", more={"usage": USAGE}), usage_chunk(), Done()),
            checks=RIGHT,
        ),
        Case(
            id="usage-early",
            right="A usage told before the text is over is passed on at the end.",
            body=ASKED,
            scene=streams(BEGUN[0], usage_chunk(), *BEGUN[1:], END, Done()),
            checks=RIGHT,
        ),
        Case(
            id="usage-in-choice",
            right="A usage told inside the choice, as Moonshot does, is passed on at its place.",
            body=ASKED,
            scene=streams(*BEGUN, chunk({"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}), Done()),
            checks=RIGHT,
        ),
        Case(
            id="usage-of-groq",
            right="A usage told in a field of the vendor, as Groq does in `x_groq`, is passed on at its place.",
            body=ASKED,
            scene=streams(*BEGUN, delta(finish="stop", more={"x_groq": {"id": "req_1", "usage": USAGE}}), Done()),
            checks=RIGHT,
        ),
        Case(
            id="usage-never",
            right="A usage that was asked for and that the model's server does not tell is told by the gateway, which can count.",
            body=ASKED,
            scene=streams(*BEGUN, END, Done()),
            checks=(SAYS, one_usage_event, finishes("stop")),
        ),
        Case(
            id="usage-without-done",
            right="The usage arrives where the model's server forgets `[DONE]`.",
            body=ASKED,
            scene=streams(*BEGUN, END, usage_chunk()),
            checks=RIGHT,
        ),
        Case(
            id="usage-merged",
            right="The usage arrives, and alone, where the last events come in one read.",
            body=ASKED,
            scene=streams(*BEGUN, END, usage_chunk(), Done(), wire=Wire(merge=0)),
            checks=RIGHT,
        ),
        Case(
            id="usage-not-asked-merged",
            right="A usage that was not asked for is left out, and nothing else, where all events come in one read.",
            body=stream(),
            scene=streams(*BEGUN, END, usage_chunk(), Done(), wire=Wire(merge=0)),
            checks=(SAYS, no_usage, finishes("stop")),
        ),
        Case(
            id="usage-details",
            right="Cached, reasoning, audio and predicted tokens are told in a stream, and large numbers exactly.",
            body=ASKED,
            scene=streamed(*text("Once", " upon"), usage=DETAILS),
            checks=(SAYS, one_usage_event, counts(**DETAILS)),
        ),
        Case(
            id="usage-tools",
            right="The usage arrives behind calls of tools.",
            body=ASKED,
            scene=streamed(call(0, "{}", name="now", call_id="call_1"), finish="tool_calls"),
            checks=(calls(("now", {})), one_usage_event, counts(**USAGE)),
        ),
        Case(
            id="usage-whole",
            right="The usage of an answer in one piece is exact.",
            body=ask(),
            scene=whole(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
            checks=(says("Here it is."), counts(prompt_tokens=1, completion_tokens=2, total_tokens=3)),
        ),
        Case(
            id="usage-whole-details",
            right="Cached, reasoning, audio and predicted tokens are told in an answer in one piece.",
            body=ask(),
            scene=whole(usage=DETAILS),
            checks=(says("Here it is."), counts(**DETAILS)),
        ),
    ),
)
