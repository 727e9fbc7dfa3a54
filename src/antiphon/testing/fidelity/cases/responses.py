"""Callers of OpenAI's responses, in front of a server that offers these itself or only chat completions."""

from typing import Any

from antiphon.testing.fidelity.case import MARK, RESPONSES, Case, Check, Group, Leave, Scene
from antiphon.testing.fidelity.checks import (
    asked,
    calls,
    closed_soon,
    counts,
    error_says,
    fails,
    finishes,
    has,
    says,
    some_object_has,
    was_asked,
)
from antiphon.testing.fidelity.words import responses
from antiphon.testing.fidelity.words.errors import refusal
from antiphon.testing.fidelity.words.openai import call, delta, streamed, streams, text, whole, whole_call
from antiphon.testing.steps import Hang, Wire

TEXT = ("Grüße", ", 世界", " 🎼🧑‍🚀", "end")
TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
PARIS = {"city": "Paris"}


def _ask(**fields: Any) -> dict[str, Any]:
    return {"input": f"Say it. {MARK}", **fields}


def _case(name: str, right: str, body: Any, scene: Scene, native: Scene, *checks: Check, **more: Any) -> Case:
    return Case(id=f"responses-{name}", right=right, route=RESPONSES, body=body, scene=scene, native=native, checks=checks, **more)


GROUP = Group(
    name="responses",
    title="Responses",
    about="OpenAI's newer endpoint. A gateway may ask the model's server at its own `/v1/responses` or translate to "
    "chat completions; the server here understands both.",
    sources=(
        "OpenAI API reference, Responses: https://platform.openai.com/docs/api-reference/responses",
        "OpenAI API reference, Streaming events: https://platform.openai.com/docs/api-reference/responses-streaming",
    ),
    cases=(
        _case(
            "whole",
            "Text comes in one piece.",
            _ask(),
            whole(),
            responses.whole(responses.message()),
            says("Here it is."),
            finishes("completed"),
        ),
        _case(
            "object",
            "The answer is an object `response`.",
            _ask(),
            whole(),
            responses.whole(responses.message()),
            has(object="response"),
        ),
        _case(
            "stream",
            "Streamed text: the events are in order and numbered, and the last one holds the whole answer.",
            _ask(stream=True),
            streamed(*text(*TEXT)),
            responses.streamed_text(*TEXT),
            says("".join(TEXT)),
            finishes("completed"),
        ),
        _case(
            "cut",
            "A stream that comes byte by byte says the same.",
            _ask(stream=True),
            streamed(*text(*TEXT), wire=Wire(write_size=1)),
            responses.streamed_text(*TEXT, wire=Wire(write_size=1)),
            says("".join(TEXT)),
        ),
        _case(
            "stream-events",
            "A text is announced, comes in pieces and is closed.",
            _ask(stream=True),
            streamed(*text(*TEXT)),
            responses.streamed_text(*TEXT),
            says("".join(TEXT)),
            *(
                some_object_has(type=f"response.{kind}")
                for kind in ("output_item.added", "content_part.added", "output_text.done", "content_part.done", "output_item.done")
            ),
        ),
        _case(
            "length",
            "An answer that was cut at the limit is `incomplete`.",
            _ask(max_output_tokens=16),
            whole("Once", finish="length"),
            responses.whole(responses.message("Once"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            says("Once"),
            finishes("incomplete", stop="max_output_tokens"),
        ),
        _case(
            "tools",
            "A call comes in one piece.",
            _ask(tools=[TOOL]),
            whole(None, finish="tool_calls", tool_calls=[whole_call()]),
            responses.whole(responses.called("weather", '{"city":"Paris"}')),
            calls(("weather", PARIS)),
        ),
        _case(
            "tools-stream",
            "A streamed call comes in pieces that say what the last event says.",
            _ask(tools=[TOOL], stream=True),
            streamed(call(0, "", name="weather", call_id="call_1"), call(0, '{"city":'), call(0, '"Paris"}'), finish="tool_calls"),
            responses.streamed_call("weather", '{"city":', '"Paris"}'),
            calls(("weather", PARIS)),
        ),
        _case(
            "usage",
            "The usage of an answer in one piece is told in the words of this endpoint.",
            _ask(),
            whole(),
            responses.whole(responses.message()),
            counts(input_tokens=11, output_tokens=5, total_tokens=16),
        ),
        _case(
            "usage-stream",
            "The usage of a stream is told in the words of this endpoint.",
            _ask(stream=True),
            streamed(*text("Once")),
            responses.streamed_text("Once"),
            counts(input_tokens=11, output_tokens=5, total_tokens=16),
        ),
        _case(
            "instructions",
            "Instructions and turns arrive.",
            _ask(
                input=[
                    {"role": "user", "content": "Hello."},
                    {"role": "assistant", "content": "Hello, Ada."},
                    {"role": "user", "content": f"Bye. {MARK}"},
                ],
                instructions="Be brief.",
            ),
            whole(),
            responses.whole(responses.message()),
            was_asked("Be brief.", "Hello.", "Hello, Ada.", f"Bye. {MARK}"),
            says("Here it is."),
        ),
        _case(
            "error",
            "An error keeps status and words.",
            _ask(),
            refusal(400, "It is too long."),
            refusal(400, "It is too long."),
            fails(400),
            error_says("It is too long."),
        ),
        _case(
            "leave",
            "The model's server sees within two seconds that the caller has left.",
            _ask(stream=True),
            streams(delta(role="assistant", content="one two"), Hang()),
            responses.begun("one two", Hang()),
            closed_soon,
            asked(1),
            caller=Leave("two"),
        ),
    ),
)
