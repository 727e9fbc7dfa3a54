"""What a model thinks before it answers."""

from antiphon.testing.fidelity.case import Act, Case, Group
from antiphon.testing.fidelity.checks import calls, counts, finishes, says, sent, thinks
from antiphon.testing.fidelity.words.openai import ask, call, chunk, delta, stream, streamed, text, whole, whole_call

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 40,
    "total_tokens": 51,
    "completion_tokens_details": {"reasoning_tokens": 32},
}


def _thinks(*pieces: str, field: str = "reasoning_content") -> list[Act]:
    return [chunk({"index": 0, "delta": {field: piece}, "finish_reason": None}) for piece in pieces]


GROUP = Group(
    name="reason",
    title="Reasoning",
    about="OpenAI's chat completions do not tell what a model thinks, but the servers that imitate it do, as "
    "`reasoning_content` or `reasoning`. It must neither be lost nor be mixed into the answer; either name "
    "counts.",
    sources=(
        "DeepSeek, Reasoning model: https://api-docs.deepseek.com/guides/reasoning_model",
        "vLLM, Reasoning outputs: https://docs.vllm.ai/en/latest/features/reasoning_outputs.html",
        "OpenAI API reference, `reasoning_effort`: https://platform.openai.com/docs/api-reference/chat/create",
    ),
    cases=(
        *(
            Case(
                id=f"reason-effort-{effort}",
                right=f"`reasoning_effort: {effort}` arrives.",
                body=ask(reasoning_effort=effort),
                scene=whole(),
                checks=(sent(reasoning_effort=effort), says("Here it is.")),
            )
            for effort in ("minimal", "low", "high")
        ),
        Case(
            id="reason-whole",
            right="Reasoning and answer in one piece are told apart.",
            body=ask(),
            scene=whole("Nine.", reasoning_content="Three times three."),
            checks=(thinks("Three times three."), says("Nine.")),
        ),
        Case(
            id="reason-whole-name",
            right="Reasoning in one piece under the name `reasoning` is told apart from the answer.",
            body=ask(),
            scene=whole("Nine.", reasoning="Three times three."),
            checks=(thinks("Three times three."), says("Nine.")),
        ),
        Case(
            id="reason-stream",
            right="Streamed reasoning and the answer behind it are told apart.",
            body=stream(),
            scene=streamed(*_thinks("Three", " times", " three."), *text("Nine", ".")),
            checks=(thinks("Three times three."), says("Nine."), finishes("stop")),
        ),
        Case(
            id="reason-stream-name",
            right="Streamed reasoning under the name `reasoning` is told apart from the answer.",
            body=stream(),
            scene=streamed(*_thinks("Three", " times", " three.", field="reasoning"), *text("Nine", ".")),
            checks=(thinks("Three times three."), says("Nine.")),
        ),
        Case(
            id="reason-stream-null",
            right="`content: null` beside reasoning, and `reasoning_content: null` beside text, are nothing.",
            body=stream(),
            scene=streamed(
                delta(content=None, reasoning_content="Three times three."), delta(content="Nine.", reasoning_content=None)
            ),
            checks=(thinks("Three times three."), says("Nine.")),
        ),
        Case(
            id="reason-tools",
            right="Streamed reasoning before a call of a tool arrives, and the call does.",
            body=stream(),
            scene=streamed(
                *_thinks("I must", " ask."), call(0, '{"city":"Paris"}', name="weather", call_id="call_1"), finish="tool_calls"
            ),
            checks=(thinks("I must ask."), says(""), calls(("weather", {"city": "Paris"})), finishes("tool_calls")),
        ),
        Case(
            id="reason-tools-whole",
            right="Reasoning before a call of a tool arrives in an answer in one piece.",
            body=ask(),
            scene=whole(None, finish="tool_calls", reasoning_content="I must ask.", tool_calls=[whole_call()]),
            checks=(thinks("I must ask."), calls(("weather", {"city": "Paris"}))),
        ),
        Case(
            id="reason-cut",
            right="An answer that was cut at the limit while the model was thinking arrives so far.",
            body=stream(max_completion_tokens=3),
            scene=streamed(*_thinks("Three", " times"), finish="length"),
            checks=(thinks("Three times"), says(""), finishes("length")),
        ),
        Case(
            id="reason-tokens",
            right="How many tokens were thought is told.",
            body=stream(usage=True),
            scene=streamed(*_thinks("Three times three."), *text("Nine."), usage=USAGE),
            checks=(says("Nine."), counts(**USAGE)),
        ),
    ),
)
