"""Calls of tools in the answer."""

from typing import Any

import msgspec

from antiphon.testing.fidelity.case import Case, Group
from antiphon.testing.fidelity.checks import calls, finishes, keeps_ids, own_ids, says
from antiphon.testing.fidelity.words.openai import (
    answers,
    ask,
    call,
    completion,
    delta,
    message,
    piece,
    stream,
    streamed,
    text,
    tool,
    whole,
    whole_call,
)

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
TOOLS = [tool(), tool("time", "zone")]
BIG = {"text": "ünïcödé " * 40_000}
NESTED = {"a": [1, 2.5, None, True, {"b": '"\\\n'}], "c": {}, "d": '{"not": "json"}', "e": 1e-7, "f": 12345678901234567890}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _asks(**more: Any) -> dict[str, Any]:
    return stream("What is the weather in Paris and in Rome?", tools=TOOLS, **more)


GROUP = Group(
    name="tools",
    title="Calls of tools",
    about="Which tools are called, in which order, with which ids and arguments. A client puts the pieces of a call "
    "together by its index, so the index must be right even where the model's server leaves it out or begins "
    "at zero again, as servers that imitate OpenAI do.",
    sources=(
        "OpenAI guide, Function calling, Streaming: https://platform.openai.com/docs/guides/function-calling",
        "OpenAI API reference, `choices[].delta.tool_calls[].index`: https://platform.openai.com/docs/api-reference/chat-streaming",
    ),
    cases=(
        Case(
            id="tools-stream",
            right="A call comes with its id and name, and its arguments in pieces.",
            body=_asks(),
            scene=streamed(
                call(0, "", name="weather", call_id="call_1"),
                call(0, '{"ci'),
                call(0, 'ty":"Pa'),
                call(0, 'ris"}'),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS)), keeps_ids("call_1"), finishes("tool_calls")),
        ),
        Case(
            id="tools-stream-two",
            right="Two calls, one behind the other, are two calls.",
            body=_asks(),
            scene=streamed(
                call(0, "", name="weather", call_id="call_1"),
                call(0, '{"city":"Paris"}'),
                call(1, "", name="weather", call_id="call_2"),
                call(1, '{"city":"Rome"}'),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS), ("weather", ROME)), keeps_ids("call_1", "call_2")),
        ),
        Case(
            id="tools-stream-mixed",
            right="Two calls whose pieces are mixed are told apart by their index.",
            body=_asks(),
            scene=streamed(
                call(0, "", name="weather", call_id="call_1"),
                call(1, "", name="weather", call_id="call_2"),
                call(0, '{"city":'),
                call(1, '{"city":'),
                call(1, '"Rome"}'),
                call(0, '"Paris"}'),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS), ("weather", ROME)), keeps_ids("call_1", "call_2")),
        ),
        Case(
            id="tools-stream-one-event",
            right="Two complete calls in one event are two calls.",
            body=_asks(),
            scene=streamed(
                delta(
                    tool_calls=[
                        piece(0, _json(PARIS), name="weather", call_id="call_1"),
                        piece(1, _json(ROME), name="weather", call_id="call_2"),
                    ]
                ),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS), ("weather", ROME)), keeps_ids("call_1", "call_2")),
        ),
        Case(
            id="tools-stream-text-before",
            right="Text before a call stays text.",
            body=_asks(),
            scene=streamed(*text("Let me", " see."), call(0, _json(PARIS), name="weather", call_id="call_1"), finish="tool_calls"),
            checks=(says("Let me see."), calls(("weather", PARIS)), finishes("tool_calls")),
        ),
        Case(
            id="tools-stream-text-around",
            right="Text before, between and behind two calls is whole.",
            body=_asks(),
            scene=streamed(
                *text("One: "),
                call(0, _json(PARIS), name="weather", call_id="call_1"),
                *text("two: "),
                call(1, _json(ROME), name="weather", call_id="call_2"),
                *text("done."),
                finish="tool_calls",
            ),
            checks=(says("One: two: done."), calls(("weather", PARIS), ("weather", ROME))),
        ),
        Case(
            id="tools-no-index",
            right="Two complete calls without an index, in two events, are two calls.",
            body=_asks(),
            scene=streamed(
                call(None, _json(PARIS), name="weather", call_id="call_1"),
                call(None, _json(ROME), name="weather", call_id="call_2"),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS), ("weather", ROME)), own_ids),
        ),
        Case(
            id="tools-no-index-one-event",
            right="Two complete calls without an index, in one event, are two calls.",
            body=_asks(),
            scene=streamed(
                delta(
                    tool_calls=[
                        piece(None, _json(PARIS), name="weather", call_id="call_1"),
                        piece(None, _json(ROME), name="weather", call_id="call_2"),
                    ]
                ),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS), ("weather", ROME)), own_ids),
        ),
        Case(
            id="tools-no-index-no-id",
            right="Two complete calls with neither index nor id are two calls with ids of their own.",
            body=_asks(),
            scene=streamed(
                call(None, _json(PARIS), name="weather"), call(None, _json({"zone": "CET"}), name="time"), finish="tool_calls"
            ),
            checks=(calls(("weather", PARIS), ("time", {"zone": "CET"})), own_ids),
        ),
        Case(
            id="tools-index-restarts",
            right="Two calls that both say index 0, under two ids, are two calls.",
            body=_asks(),
            scene=streamed(
                call(0, _json(PARIS), name="weather", call_id="call_1"),
                call(0, _json(ROME), name="weather", call_id="call_2"),
                finish="tool_calls",
            ),
            checks=(calls(("weather", PARIS), ("weather", ROME)), own_ids),
        ),
        Case(
            id="tools-index-restarts-text",
            right="Three calls that all say index 0, with text between them, are three calls, and the text is whole.",
            body=_asks(),
            scene=streamed(
                *text("First "),
                call(0, _json(PARIS), name="weather", call_id="call_1"),
                *text("second "),
                call(0, _json(ROME), name="weather", call_id="call_2"),
                *text("third."),
                call(0, _json({"zone": "CET"}), name="time", call_id="call_3"),
                finish="tool_calls",
            ),
            checks=(
                says("First second third."),
                calls(("weather", PARIS), ("weather", ROME), ("time", {"zone": "CET"})),
                own_ids,
            ),
        ),
        Case(
            id="tools-no-id",
            right="Calls without an id get one.",
            body=_asks(),
            scene=streamed(call(0, _json(PARIS), name="weather"), call(1, _json(ROME), name="weather"), finish="tool_calls"),
            checks=(calls(("weather", PARIS), ("weather", ROME)), own_ids),
        ),
        Case(
            id="tools-stream-no-arguments",
            right="A tool that takes nothing is called with an empty object.",
            body=_asks(),
            scene=streamed(call(0, "", name="now", call_id="call_1"), call(0, "{}"), finish="tool_calls"),
            checks=(calls(("now", {})), finishes("tool_calls")),
        ),
        Case(
            id="tools-stream-nested",
            right="Nested arguments, numbers and quoting come to the letter, whatever their pieces.",
            body=_asks(),
            scene=streamed(
                call(0, "", name="store", call_id="call_1"), *(call(0, char) for char in _json(NESTED)), finish="tool_calls"
            ),
            checks=(calls(("store", _json(NESTED))),),
        ),
        Case(
            id="tools-stream-broken-json",
            right="Arguments that the model got wrong arrive as it wrote them: the caller decides what to do.",
            body=_asks(),
            scene=streamed(call(0, '{"city": "Par', name="weather", call_id="call_1"), finish="length"),
            checks=(calls(("weather", '{"city": "Par')), finishes("length")),
        ),
        Case(
            id="tools-stream-big",
            right="Arguments of more than 300 KB arrive whole.",
            body=_asks(),
            scene=streamed(
                call(0, "", name="store", call_id="call_1"),
                *(call(0, _json(BIG)[at : at + 20_000]) for at in range(0, len(_json(BIG)), 20_000)),
                finish="tool_calls",
            ),
            checks=(calls(("store", BIG)),),
        ),
        Case(
            id="tools-stream-ten",
            right="Ten calls at once keep their order.",
            body=_asks(),
            scene=streamed(
                *(call(at, "", name="weather", call_id=f"call_{at}") for at in range(10)),
                *(call(at, _json({"city": f"City {at}"})) for at in reversed(range(10))),
                finish="tool_calls",
            ),
            checks=(
                calls(*(("weather", {"city": f"City {at}"}) for at in range(10))),
                keeps_ids(*(f"call_{at}" for at in range(10))),
            ),
        ),
        Case(
            id="tools-stream-function",
            right="The older `function_call` streams as what it is.",
            body=stream(functions=[tool()["function"]]),
            scene=streamed(
                delta(function_call={"name": "weather", "arguments": ""}),
                delta(function_call={"arguments": '{"city":'}),
                delta(function_call={"arguments": '"Paris"}'}),
                finish="function_call",
            ),
            checks=(calls(("weather", PARIS)), finishes("function_call")),
        ),
        Case(
            id="tools-whole",
            right="A call comes in an answer in one piece.",
            body=ask(tools=TOOLS),
            scene=whole(None, finish="tool_calls", tool_calls=[whole_call()]),
            checks=(calls(("weather", PARIS)), keeps_ids("call_1"), finishes("tool_calls")),
        ),
        Case(
            id="tools-whole-two",
            right="Two calls and text come in an answer in one piece.",
            body=ask(tools=TOOLS),
            scene=whole(
                "Let me see.",
                finish="tool_calls",
                tool_calls=[whole_call(), whole_call("time", '{"zone": "CET"}', "call_2")],
            ),
            checks=(
                says("Let me see."),
                calls(("weather", PARIS), ("time", {"zone": "CET"})),
                keeps_ids("call_1", "call_2"),
                finishes("tool_calls"),
            ),
        ),
        Case(
            id="tools-whole-exact",
            right="The text of the arguments is not written anew: blanks and order of fields stay.",
            body=ask(tools=TOOLS),
            scene=whole(None, finish="tool_calls", tool_calls=[whole_call(arguments='{ "b" : 1.0,\n "a" : "\\u00fc" }')]),
            checks=(calls(("weather", '{ "b" : 1.0,\n "a" : "\\u00fc" }')),),
        ),
        Case(
            id="tools-whole-custom",
            right="A call of a custom tool keeps its input.",
            body=ask(tools=[{"type": "custom", "custom": {"name": "code", "description": "Runs code."}}]),
            scene=whole(
                None,
                finish="tool_calls",
                tool_calls=[{"id": "call_1", "type": "custom", "custom": {"name": "code", "input": "print('Grüße')\n"}}],
            ),
            checks=(calls(("code", "print('Grüße')\n")), keeps_ids("call_1")),
        ),
        Case(
            id="tools-whole-function",
            right="The older `function_call` comes in an answer in one piece.",
            body=ask(functions=[tool()["function"]]),
            scene=answers(
                completion(
                    {
                        "index": 0,
                        "message": {**message(None), "function_call": {"name": "weather", "arguments": '{"city":"Paris"}'}},
                        "finish_reason": "function_call",
                    }
                )
            ),
            checks=(calls(("weather", PARIS)), finishes("function_call")),
        ),
    ),
)
