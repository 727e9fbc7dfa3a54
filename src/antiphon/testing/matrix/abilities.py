"""What is tried in every cell: what is asked, what the server answers, and what each side must see of it."""

from typing import Any, Final

import msgspec

from antiphon.testing.matrix.telling import PDF, PNG, WAV, Answer, Ask, Failure, Tool, ToolCall, Turn

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}
WEATHER: Final = Tool("weather", SCHEMA)
TIME: Final = Tool("clock", {"type": "object", "properties": {}})
CALL: Final = ToolCall("weather", {"place": "Köln 世界"}, "call_1")
OTHER: Final = ToolCall("clock", {}, "call_2")
HELLO: Final = Turn("user", "hello")
SAID: Final = Answer(texts=("Grüße, ", "世界 👩‍👩‍👧"))


class Ability(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the matrix."""

    name: str
    ask: Ask = Ask()
    answer: Answer | Failure = SAID
    seen: tuple[str, ...] = ()
    """Fields of the request that the server must have understood as they were meant, beside its turns."""
    cut: bool = False
    """The server dies in the middle of its stream."""
    streams: bool = True
    """Tried streamed too."""


def _asked(name: str, *seen: str, answer: Answer = SAID, **fields: Any) -> Ability:
    return Ability(name=name, ask=Ask(**fields), answer=answer, seen=seen or tuple(fields))


ABILITIES: Final = (
    Ability(name="text"),
    _asked("system prompt", system="Be brief."),
    _asked("several turns", "turns", turns=(HELLO, Turn("assistant", "Yes?"), Turn("user", "Go on."))),
    _asked("image as URL", "turns", turns=(Turn("user", "What is it?", image="https://example.com/cat.png"),)),
    _asked("image as data", "turns", turns=(Turn("user", "What is it?", image=PNG),)),
    _asked("audio", "turns", turns=(Turn("user", "What is said?", audio=WAV),)),
    _asked("document", "turns", turns=(Turn("user", "Sum it up.", document=PDF),)),
    _asked("tool call", tools=(WEATHER,), answer=Answer(texts=("Let me look.",), calls=(CALL,), finish="tool_calls")),
    _asked("parallel tool calls", tools=(WEATHER, TIME), answer=Answer(calls=(CALL, OTHER), finish="tool_calls")),
    _asked("one tool call at most", "parallel_tools", tools=(WEATHER,), parallel_tools=False),
    _asked("tool choice: required", tools=(WEATHER,), tool_choice="required"),
    _asked("tool choice: by name", tools=(WEATHER, TIME), tool_choice="weather"),
    _asked("tool choice: none", tools=(WEATHER,), tool_choice="none"),
    _asked(
        "tool results",
        "turns",
        tools=(WEATHER, TIME),
        turns=(
            HELLO,
            Turn("assistant", "Let me look.", calls=(CALL, OTHER)),
            Turn("tool", "rain", result_of=CALL),
            Turn("tool", "noon", result_of=OTHER),
        ),
    ),
    _asked("JSON Schema", schema=SCHEMA, answer=Answer(texts=('{"place":', '"Köln"}'))),
    _asked("JSON object", json_object=True, answer=Answer(texts=('{"a":1}',))),
    _asked("max tokens", max_tokens=77, answer=Answer(texts=("cut",), finish="length")),
    _asked("temperature", temperature=0.5),
    _asked("top p", top_p=0.25),
    _asked("top k", top_k=7),
    _asked("stop sequences", stop=("END", "FIN")),
    _asked("seed", seed=42),
    _asked("presence penalty", presence_penalty=0.5),
    _asked("frequency penalty", frequency_penalty=0.5),
    _asked("several answers (n)", n=2, answer=Answer(texts=("one",), choices=2)),
    _asked("log-probabilities", logprobs=True, answer=Answer(texts=("hi",), logprobs=True)),
    _asked("reasoning effort", "turns", effort="high"),
    Ability(name="thinking told", answer=Answer(thinking="Let me see.", texts=("Yes.",))),
    Ability(name="reasoning tokens told", answer=Answer(texts=("Yes.",), completion_tokens=9, reasoning_tokens=4)),
    Ability(name="cached tokens told", answer=Answer(texts=("x",), prompt_tokens=100, cached_tokens=60)),
    Ability(name="filtered answer", answer=Answer(texts=("I ",), finish="content_filter")),
    Ability(name="error 400", answer=Failure(400, "the prompt is odd")),
    Ability(name="error 429", answer=Failure(429, "slow down")),
    Ability(name="error 503", answer=Failure(503, "overloaded")),
    Ability(name="cut stream", cut=True),
)
