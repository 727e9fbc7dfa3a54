"""Several choices, log-probabilities, and what belongs to each."""

from antiphon.testing.fidelity.case import Case, Group
from antiphon.testing.fidelity.checks import (
    calls,
    counts,
    finishes,
    logprobs,
    one_usage_event,
    says,
    sent,
    some_object_has,
)
from antiphon.testing.fidelity.words.openai import (
    USAGE,
    answers,
    ask,
    completion,
    delta,
    message,
    piece,
    stream,
    streamed,
    streams,
    token,
    usage_chunk,
    whole,
)
from antiphon.testing.steps import Done

ONCE, UPON = token("Once", -0.25, ("Once", -0.25), ("Long", -1.5)), token(" upon", -1e-7)
TINY, ODD = token("x", -9999.0), {"token": "bytes:\\xe4", "logprob": -0.1, "bytes": None, "top_logprobs": []}


def _told(*tokens: object) -> dict[str, object]:
    return {"content": list(tokens), "refusal": None}


N = Group(
    name="n",
    title="Several choices",
    about="`n` answers to one question, told apart by their index.",
    sources=("OpenAI API reference, `n`: https://platform.openai.com/docs/api-reference/chat/create",),
    cases=(
        Case(
            id="n-asked",
            right="The model's server is asked for as many choices as the caller wants.",
            body=ask(n=2),
            scene=answers(
                completion(
                    {"index": 0, "message": message("One"), "finish_reason": "stop"},
                    {"index": 1, "message": message("Two"), "finish_reason": "stop"},
                )
            ),
            checks=(sent(n=2), says("One", 0), says("Two", 1)),
        ),
        Case(
            id="n-whole",
            right="Three choices in one piece keep their index, text and reason.",
            body=ask(n=3),
            scene=answers(
                completion(
                    {"index": 0, "message": message("One"), "finish_reason": "stop"},
                    {"index": 1, "message": message("Two"), "finish_reason": "length"},
                    {"index": 2, "message": message("Three"), "finish_reason": "content_filter"},
                )
            ),
            checks=(
                says("One", 0),
                says("Two", 1),
                says("Three", 2),
                finishes("stop", 0),
                finishes("length", 1),
                finishes("content_filter", 2),
            ),
        ),
        Case(
            id="n-stream",
            right="Two choices whose events are mixed keep their texts apart.",
            body=stream(n=2),
            scene=streams(
                delta(0, role="assistant", content=""),
                delta(1, role="assistant", content=""),
                delta(0, content="One"),
                delta(1, content="Two"),
                delta(1, content=" b"),
                delta(0, content=" a"),
                delta(1, finish="length"),
                delta(0, content="."),
                delta(0, finish="stop"),
                Done(),
            ),
            checks=(says("One a.", 0), says("Two b", 1)),
        ),
        Case(
            id="n-stream-finish",
            right="Each of two choices keeps its own reason for the end.",
            body=stream(n=2),
            scene=streams(
                delta(0, content="One"), delta(1, content="Two"), delta(1, finish="length"), delta(0, finish="stop"), Done()
            ),
            checks=(finishes("stop", 0), finishes("length", 1)),
        ),
        Case(
            id="n-stream-in-turn",
            right="A choice that begins when another has ended is not cut off.",
            body=stream(n=2),
            scene=streams(
                delta(0, content="One"), delta(0, finish="stop"), delta(1, content="Two"), delta(1, finish="stop"), Done()
            ),
            checks=(says("One", 0), says("Two", 1)),
        ),
        Case(
            id="n-stream-tools",
            right="Calls of tools belong to their choice, and are counted from zero in each.",
            body=stream(n=2),
            scene=streams(
                delta(0, tool_calls=[piece(0, '{"a":1}', name="one", call_id="call_1")]),
                delta(1, tool_calls=[piece(0, '{"b":2}', name="two", call_id="call_2")]),
                delta(0, finish="tool_calls"),
                delta(1, finish="tool_calls"),
                Done(),
            ),
            checks=(calls(("one", {"a": 1}), choice=0), calls(("two", {"b": 2}), choice=1)),
        ),
        Case(
            id="n-stream-usage",
            right="The usage of all choices is told once, behind the last of them.",
            body=stream(n=2, usage=True),
            scene=streams(
                delta(0, content="One"),
                delta(0, finish="stop"),
                delta(1, content="Two"),
                delta(1, finish="stop"),
                usage_chunk(),
                Done(),
            ),
            checks=(says("One", 0), says("Two", 1), one_usage_event, counts(**USAGE)),
        ),
    ),
)

LOGPROBS = Group(
    name="logprobs",
    title="Log-probabilities",
    about="Numbers that are passed on as they are, with their tokens and bytes.",
    sources=("OpenAI API reference, `logprobs` and `top_logprobs`: https://platform.openai.com/docs/api-reference/chat/create",),
    cases=(
        Case(
            id="logprobs-asked",
            right="The model's server is asked for log-probabilities.",
            body=ask(logprobs=True, top_logprobs=2),
            scene=whole("Once", logprobs=_told(ONCE)),
            checks=(sent(logprobs=True, top_logprobs=2), logprobs(ONCE)),
        ),
        Case(
            id="logprobs-whole",
            right="Log-probabilities in one piece are exact, with the tokens that might have stood there.",
            body=ask(logprobs=True, top_logprobs=2),
            scene=whole("Once upon", logprobs=_told(ONCE, UPON)),
            checks=(says("Once upon"), logprobs(ONCE, UPON)),
        ),
        Case(
            id="logprobs-stream",
            right="Streamed log-probabilities come with their pieces of text.",
            body=stream(logprobs=True, top_logprobs=2),
            scene=streamed(delta(content="Once", logprobs=_told(ONCE)), delta(content=" upon", logprobs=_told(UPON))),
            checks=(says("Once upon"), logprobs(ONCE, UPON)),
        ),
        Case(
            id="logprobs-with-finish",
            right="Log-probabilities and the reason for the end in one event both arrive.",
            body=stream(logprobs=True),
            scene=streams(delta(content="Once", logprobs=_told(ONCE), finish="stop"), Done()),
            checks=(says("Once"), logprobs(ONCE), finishes("stop")),
        ),
        Case(
            id="logprobs-then-finish",
            right="Log-probabilities of an event are not lost to the reason for the end in the next one.",
            body=stream(logprobs=True),
            scene=streams(delta(content="Once", logprobs=_told(ONCE)), delta(finish="length"), Done()),
            checks=(logprobs(ONCE), finishes("length")),
        ),
        Case(
            id="logprobs-odd",
            right="Tokens that are no whole characters have no bytes, and the least number is -9999.",
            body=ask(logprobs=True),
            scene=whole("x", logprobs=_told(TINY, ODD)),
            checks=(logprobs(TINY, ODD),),
        ),
        Case(
            id="logprobs-refusal",
            right="Log-probabilities of a refusal arrive as such.",
            body=stream(logprobs=True),
            scene=streams(
                delta(refusal="No", logprobs={"content": None, "refusal": [token("No", -0.5)]}), delta(finish="stop"), Done()
            ),
            checks=(some_object_has(choices=[{"logprobs": {"refusal": [token("No", -0.5)]}}]),),
        ),
    ),
)
