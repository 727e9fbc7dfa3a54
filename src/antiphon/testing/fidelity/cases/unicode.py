"""Every character, in both directions."""

from typing import Any

import msgspec

from antiphon.testing.fidelity.case import MARK, MODEL, Case, Group, Scene
from antiphon.testing.fidelity.checks import calls, says, sent, sent_messages
from antiphon.testing.fidelity.words.openai import (
    HEAD,
    answers,
    ask,
    call,
    completion,
    message,
    stream,
    streamed,
    text,
    tool,
    user,
    whole,
    whole_call,
)
from antiphon.testing.steps import Body, Event, Header, Wire

SCRIPTS = "Ελληνικά, русский, עברית, العربية, हिन्दी, ไทย, 中文, 日本語, 한국어"
EMOJI = "👩🏽‍🚀 👨‍👩‍👧‍👦 🇪🇺 ❤️ 🏴󠁧󠁢󠁳󠁣󠁴󠁿"
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
INVISIBLE = "a\u200bb\u200dc\u00add\ufeffe\u2028f\u2029g\u202eh\u202c"
CONTROLS = "nul\x00 bell\x07 escape\x1b delete\x7f"
QUOTING = '"quotes" \\backslash\\ /slash/ \b\f\n\r\t </script> %41 &amp; \\u0041 data: [DONE]'


def _escaped(value: Any) -> bytes:
    """JSON with every character that is not ASCII as an escape, as Python's own library writes it."""
    text = msgspec.json.encode(value).decode()
    return b"".join(
        char.encode() if ord(char) < 128 else b"".join(b"\\u%04x" % unit for unit in memoryview(char.encode("utf-16-le")).cast("H"))
        for char in text
    )


def _streams(name: str, right: str, *pieces: str) -> Case:
    return Case(id=name, right=right, body=stream(), scene=streamed(*text(*pieces)), checks=(says("".join(pieces)),))


def _asks(name: str, right: str, content: str) -> Case:
    return Case(id=name, right=right, body=ask(content), scene=whole(), checks=(sent_messages(user(content)), says("Here it is.")))


_ESCAPED_CHUNK = {**HEAD, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": SCRIPTS + EMOJI}}]}
_LAST_CHUNK = {**HEAD, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

GROUP = Group(
    name="unicode",
    title="Unicode",
    about="Texts are sequences of characters, and no gateway has business with which ones.",
    sources=(
        "RFC 8259, JSON, sections 7 and 8: https://www.rfc-editor.org/rfc/rfc8259",
        "The Unicode Standard, 2.2: a text is kept as it is encoded: https://www.unicode.org/versions/latest/",
    ),
    cases=(
        _streams(
            "unicode-scripts",
            "Streamed text in the scripts of the world comes to the letter.",
            *(piece + " " for piece in SCRIPTS.split(" ")),
        ),
        _streams("unicode-emoji", "Emoji that are made of several characters, streamed one by one, are put together.", *EMOJI),
        _streams("unicode-composed", "Composed and decomposed characters stay what they are.", COMPOSED, " ", DECOMPOSED),
        _streams("unicode-invisible", "Invisible characters and line separators are kept.", *INVISIBLE),
        _streams("unicode-controls", "Control characters are kept.", CONTROLS),
        _streams(
            "unicode-quoting",
            "What looks like quoting, markup or the end of a stream is text.",
            QUOTING,
            " data: [DONE]\n\n",
            "end",
        ),
        Case(
            id="unicode-whole",
            right="Characters of every kind come to the letter in an answer in one piece.",
            body=ask(),
            scene=whole(SCRIPTS + EMOJI + DECOMPOSED + INVISIBLE + CONTROLS + QUOTING),
            checks=(says(SCRIPTS + EMOJI + DECOMPOSED + INVISIBLE + CONTROLS + QUOTING),),
        ),
        Case(
            id="unicode-escapes",
            right="Characters that the model's server writes as escapes, and pairs of escapes, are the same characters.",
            body=ask(),
            scene=answers(_escaped(completion({"index": 0, "message": message(SCRIPTS + EMOJI), "finish_reason": "stop"}))),
            checks=(says(SCRIPTS + EMOJI),),
        ),
        Case(
            id="unicode-escapes-streamed",
            right="Characters that the model's server writes as escapes in a stream are the same characters.",
            body=stream(),
            scene=Scene(
                (
                    Header("content-type", "text/event-stream"),
                    Event(_escaped(_ESCAPED_CHUNK)),
                    Event(_escaped(_LAST_CHUNK)),
                    Body("data: [DONE]\n\n"),
                ),
                Wire(framing="chunked"),
            ),
            checks=(says(SCRIPTS + EMOJI),),
        ),
        _asks("unicode-question", "A question in many scripts reaches the model.", f"{SCRIPTS} {EMOJI}"),
        _asks(
            "unicode-question-exact",
            "The characters of a question are neither composed nor cleaned.",
            f"{DECOMPOSED} {INVISIBLE} {QUOTING}",
        ),
        Case(
            id="unicode-question-escaped",
            right="A question that the caller writes in escapes reaches the model.",
            body=_escaped({"model": MODEL, **ask(SCRIPTS + EMOJI)}),
            scene=whole(),
            checks=(sent_messages(user(SCRIPTS + EMOJI)), says("Here it is.")),
        ),
        Case(
            id="unicode-tool-result",
            right="The result of a tool reaches the model as it is.",
            body={
                "messages": [
                    user(),
                    {"role": "assistant", "content": None, "tool_calls": [whole_call("find", '{"was":"Grüße 世界"}')]},
                    {"role": "tool", "tool_call_id": "call_1", "content": f"{SCRIPTS} {EMOJI} {DECOMPOSED}"},
                ],
                "tools": [tool("find", "was")],
            },
            scene=whole(),
            checks=(
                sent_messages(
                    user(),
                    {"role": "assistant", "tool_calls": [whole_call("find", '{"was":"Grüße 世界"}')]},
                    {"role": "tool", "tool_call_id": "call_1", "content": f"{SCRIPTS} {EMOJI} {DECOMPOSED}"},
                ),
            ),
        ),
        Case(
            id="unicode-arguments",
            right="Arguments of a call that were cut between any two characters are put together.",
            body=stream(),
            scene=streamed(
                call(0, "", name="say", call_id="call_1"),
                *(call(0, piece) for piece in msgspec.json.encode({"text": SCRIPTS + EMOJI + QUOTING}).decode()),
                finish="tool_calls",
            ),
            checks=(calls(("say", {"text": SCRIPTS + EMOJI + QUOTING})),),
        ),
        Case(
            id="unicode-stop",
            right="Stop sequences keep their characters.",
            body=ask(stop=["。", "🛑", "\n\n"]),
            scene=whole(),
            checks=(sent(stop=["。", "🛑", "\n\n"]), says("Here it is.")),
        ),
        Case(
            id="unicode-system",
            right="What the system says keeps its characters.",
            body={"messages": [{"role": "system", "content": SCRIPTS + INVISIBLE}, user()]},
            scene=whole(),
            checks=(
                sent_messages({"role": "system", "content": SCRIPTS + INVISIBLE}, {"role": "user", "content": f"Say it. {MARK}"}),
            ),
        ),
    ),
)
