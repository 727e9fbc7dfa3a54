"""However the network cuts a stream, and however its events are written, the text is the same."""

from antiphon.testing.fidelity.case import Act, Case, Check, Group, Scene
from antiphon.testing.fidelity.checks import calls, counts, finishes, says
from antiphon.testing.fidelity.words.openai import call, delta, stream, streamed, text, usage_chunk
from antiphon.testing.steps import PLAIN, Body, Comment, Done, Event, Header, Wire, payload

PIECES = ("Grüße", ", 世界", " 🎼🧑‍🚀", " — ", "ﷺ\u200d", "end")
WHOLE = "".join(PIECES)
EVENTS: tuple[Event | Done, ...] = (delta(role="assistant", content=""), *text(*PIECES), delta(finish="stop"), Done())
RIGHT: tuple[Check, ...] = (says(WHOLE), finishes("stop"))
STREAM = Header("content-type", "text/event-stream")


def _cut(name: str, right: str, wire: Wire, *acts: Act) -> Case:
    return Case(id=name, right=right, body=stream(), scene=Scene(acts or EVENTS, wire), checks=RIGHT)


def _written(name: str, right: str, raw: bytes) -> Case:
    return Case(id=name, right=right, body=stream(), scene=Scene((STREAM, Body(raw)), Wire(framing="chunked")), checks=RIGHT)


def _raw(newline: str = "\n") -> bytes:
    return b"".join(payload(event, newline) for event in EVENTS)


def _spread(raw: bytes) -> bytes:
    """The same events, the JSON of each over several lines of data."""
    return raw.replace(b',"created"', b',\ndata:  "created"').replace(b',"choices"', b',\ndata: "choices"')


GROUP = Group(
    name="cut",
    title="Cuts of the network",
    about="A stream is bytes until it is put together. A read may end inside a character, inside a line end or "
    "between two events, and events may be written in every way that the standard allows.",
    sources=(
        "WHATWG HTML, Server-sent events, 9.2.5 and 9.2.6: https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "RFC 9112, HTTP/1.1, sections 6 and 7: https://www.rfc-editor.org/rfc/rfc9112",
    ),
    cases=(
        _cut("cut-bytes", "A stream that comes byte by byte says the same.", Wire(write_size=1)),
        _cut(
            "cut-bytes-crlf",
            "A stream with CRLF as line end that comes byte by byte says the same.",
            Wire(write_size=1, newline="\r\n"),
        ),
        _cut(
            "cut-threes",
            "A stream that comes in reads of three bytes, with pauses between them, says the same.",
            Wire(write_size=3, gap=0.0005),
        ),
        _cut(
            "cut-sevens-crlf",
            "A stream with CRLF that comes in reads of seven bytes says the same.",
            Wire(write_size=7, newline="\r\n", gap=0.0005),
        ),
        _cut("cut-merged", "A stream whose events all come in one read says the same.", Wire(merge=0)),
        _cut(
            "cut-merged-crlf", "A stream with CRLF whose events all come in one read says the same.", Wire(merge=0, newline="\r\n")
        ),
        _cut("cut-pairs", "A stream with two events in each read says the same.", Wire(merge=2)),
        _cut("cut-crlf", "A stream with CRLF as line end says the same.", Wire(newline="\r\n")),
        _cut("cut-until-close", "A stream whose end is that of the connection says the same.", Wire(framing="close")),
        _cut("cut-length", "A stream whose length is told beforehand says the same.", Wire(framing="length")),
        _cut(
            "cut-comments",
            "Comments between the events, as keep-alives are sent, are no text.",
            PLAIN,
            Comment("ping"),
            *(act for event in EVENTS for act in (event, Comment())[: 1 if event == Done() else 2]),
        ),
        _cut(
            "cut-comments-crlf",
            "Comments with CRLF, in reads of two bytes, are no text either.",
            Wire(newline="\r\n", write_size=2),
            Comment(),
            *(act for event in EVENTS for act in (event, Comment("OPENROUTER PROCESSING"))[: 1 if event == Done() else 2]),
        ),
        _written(
            "cut-named",
            "Events may have a name, an id and a time to retry.",
            _raw().replace(b"data: {", b"event: message\nid: 7\nretry: 1000\ndata: {"),
        ),
        _written("cut-no-space", "The blank behind `data:` may be missing.", _raw().replace(b"data: ", b"data:")),
        _written("cut-lines", "The data of an event may stand on several lines.", _spread(_raw())),
        _written("cut-bom", "A byte order mark before the stream is no part of it.", b"\xef\xbb\xbf" + _raw()),
        _written("cut-cr", "CR alone ends a line too.", _raw("\r")),
        _written(
            "cut-last-line", "A complete answer is complete without the empty line behind `[DONE]`.", _raw().removesuffix(b"\n\n")
        ),
        _written(
            "cut-tail",
            "Behind the last event there may be comments and blank lines.",
            _raw() + b": bye\n\n\n\n",
        ),
        Case(
            id="cut-arguments",
            right="The arguments of a call survive being cut byte by byte.",
            body=stream(),
            scene=streamed(
                call(0, "", name="greet", call_id="call_1"),
                call(0, '{"to":"世'),
                call(0, '界","with":"🎼\\n"}'),
                finish="tool_calls",
                wire=Wire(write_size=1),
            ),
            checks=(calls(("greet", {"to": "世界", "with": "🎼\n"})), finishes("tool_calls")),
        ),
        Case(
            id="cut-usage",
            right="The usage survives being cut byte by byte.",
            body=stream(usage=True),
            scene=Scene((*EVENTS[:-1], usage_chunk(), Done()), Wire(write_size=1)),
            checks=(says(WHOLE), counts(prompt_tokens=11, completion_tokens=5, total_tokens=16)),
        ),
    ),
)
