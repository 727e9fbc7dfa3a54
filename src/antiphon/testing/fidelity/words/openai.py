"""Requests and answers of OpenAI's API.

Shapes after its reference, "Create chat completion", "The chat completion object" and "The chat completion chunk object".
"""

from typing import Any

from antiphon.testing.fidelity.case import MARK, Act, IfUsageAsked, Scene
from antiphon.testing.steps import PLAIN, Body, Done, Event, Wire

HEAD = {"id": "chatcmpl-fidelity", "created": 1_700_000_000, "model": "fidelity-upstream"}
USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}

# -- asking


def user(content: Any = "Say it.") -> dict[str, Any]:
    """A message of the user, with the mark of the case: behind a text, or as the last of several parts."""
    if isinstance(content, str):
        return {"role": "user", "content": f"{content} {MARK}"}
    return {"role": "user", "content": [*content, {"type": "text", "text": MARK}]}


def ask(content: Any = "Say it.", **more: Any) -> dict[str, Any]:
    """A request for an answer in one piece."""
    return {"messages": [user(content)], **more}


def stream(content: Any = "Say it.", *, usage: bool = False, **more: Any) -> dict[str, Any]:
    """A request for a streamed answer."""
    options = {"stream_options": {"include_usage": True}} if usage else {}
    return {"messages": [user(content)], "stream": True, **options, **more}


def tool(name: str = "weather", *properties: str, **more: Any) -> dict[str, Any]:
    """A tool that takes texts."""
    schema = {
        "type": "object",
        "properties": {one: {"type": "string"} for one in properties or ("city",)},
        "required": list(properties or ("city",)),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": f"Tells the {name}.", "parameters": schema, **more}}


# -- answering in events


def chunk(*choices: dict[str, Any], **more: Any) -> Event:
    """A chunk."""
    return Event({**HEAD, "object": "chat.completion.chunk", "choices": list(choices), **more})


def delta(
    index: int = 0, *, finish: str | None = None, logprobs: Any = None, more: dict[str, Any] | None = None, **said: Any
) -> Event:
    """A chunk with one delta. ``more``: further fields of the chunk."""
    choice = {"index": index, "delta": said, "logprobs": logprobs, "finish_reason": finish}
    return chunk(choice, **(more or {}))


def text(*pieces: str, index: int = 0) -> list[Event]:
    """A delta for each piece of text."""
    return [delta(index, content=piece) for piece in pieces]


def call(index: int | None, arguments: str | None = None, *, name: str = "", call_id: str = "", **more: Any) -> Event:
    """A delta with one piece of a call; without an index where that is None."""
    return delta(tool_calls=[piece(index, arguments, name=name, call_id=call_id, **more)])


def piece(index: int | None, arguments: str | None = None, *, name: str = "", call_id: str = "", **more: Any) -> dict[str, Any]:
    """One piece of a call of a tool."""
    function = {**({"name": name} if name else {}), **({"arguments": arguments} if arguments is not None else {})}
    identity = {"id": call_id, "type": "function"} if call_id else {}
    return {**({"index": index} if index is not None else {}), **identity, "function": function, **more}


def usage_chunk(usage: dict[str, Any] | None = None) -> Event:
    """The chunk that tells the usage."""
    return chunk(usage=usage or USAGE)


def streamed(
    *acts: Act, finish: str | None = "stop", usage: dict[str, Any] | None = None, done: bool = True, wire: Wire = PLAIN
) -> Scene:
    """A stream as OpenAI makes it: role, deltas, reason for the end, usage where it was asked for, ``[DONE]``."""
    end = [delta(finish=finish)] if finish else []
    last = [Done()] if done else []
    return Scene((delta(role="assistant", content=""), *acts, *end, IfUsageAsked(usage_chunk(usage)), *last), wire)


def streams(*acts: Act, wire: Wire = PLAIN) -> Scene:
    """A stream of just these acts."""
    return Scene(acts, wire)


# -- answering in one piece


def message(content: str | None = "Here it is.", **more: Any) -> dict[str, Any]:
    """The model's message."""
    return {"role": "assistant", "content": content, "refusal": None, **more}


def whole(
    content: str | None = "Here it is.",
    *,
    finish: str = "stop",
    logprobs: Any = None,
    usage: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None,
    **of_message: Any,
) -> Scene:
    """An answer with one choice. ``more``: further fields of the answer."""
    choice = {"index": 0, "message": message(content, **of_message), "logprobs": logprobs, "finish_reason": finish}
    return answers(completion(choice, usage=usage, **(more or {})))


def completion(*choices: dict[str, Any], usage: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The object of an answer."""
    return {**HEAD, "object": "chat.completion", "choices": list(choices), "usage": usage or USAGE, **more}


def answers(body: Any, *before: Act, wire: Wire = PLAIN) -> Scene:
    """This body."""
    return Scene((*before, Body(body)), wire)


def whole_call(name: str = "weather", arguments: str = '{"city":"Paris"}', call_id: str = "call_1") -> dict[str, Any]:
    """A call of a tool."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def token(text: str, logprob: float, *others: tuple[str, float]) -> dict[str, Any]:
    """Log-probability of a token, and of others in its place."""
    top = [{"token": one, "logprob": value, "bytes": list(one.encode())} for one, value in others]
    return {"token": text, "logprob": logprob, "bytes": list(text.encode()), "top_logprobs": top}
