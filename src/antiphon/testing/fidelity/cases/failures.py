"""Streams and answers that break off."""

from antiphon.testing.fidelity.case import Case, Group, Scene, Until
from antiphon.testing.fidelity.checks import (
    asked,
    does_not_look_whole,
    error_event_says,
    fails,
    said_before,
    says_or_fails,
    tells_error,
)
from antiphon.testing.fidelity.words.errors import told
from antiphon.testing.fidelity.words.openai import ask, completion, delta, message, stream, streams, text
from antiphon.testing.steps import Body, Comment, Cut, Delay, Event, Hang, Header, Raw, Status, Wire

STREAM = Header("content-type", "text/event-stream")
HALF = (delta(role="assistant", content=""), *text("half an", " answer"))
SERVER_FAULTS = (500, 502, 503, 504)
BEHIND_TEXT = (said_before("half an answer"), does_not_look_whole)
UNSAID = (does_not_look_whole, tells_error)
HEARD = Until("answer")
"""What had been said before it breaks off has arrived: a reset takes away what nobody has read yet."""
SOON = Delay(0.1)

GROUP = Group(
    name="fail",
    title="Answers that break off",
    about="Half an answer that looks whole is the worst of all: nobody notices. What had come is passed on, and no "
    "`[DONE]` follows; the connection breaks off, or an event tells of the failure, which clients raise. The "
    "cases whose name ends in `told` want that event, because only it can say what happened. Before any text "
    "the status can still tell it.",
    sources=(
        "The official clients raise what an event tells under `error`: https://github.com/openai/openai-python, `_streaming.py`",
        "RFC 9112, 8, incomplete messages: https://www.rfc-editor.org/rfc/rfc9112",
    ),
    cases=(
        Case(
            id="fail-cut",
            right="A stream whose connection the server closes in the middle does not look complete.",
            body=stream(),
            scene=streams(*HALF, HEARD, Cut()),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-cut-told",
            right="An event tells the caller that the server closed the connection.",
            body=stream(),
            scene=streams(*HALF, HEARD, Cut()),
            checks=(*BEHIND_TEXT, tells_error),
        ),
        Case(
            id="fail-reset",
            right="A stream whose connection the server resets in the middle does not look complete.",
            body=stream(),
            scene=streams(*HALF, HEARD, Cut(reset=True)),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-half-event",
            right="A stream that ends inside an event does not look complete.",
            body=stream(),
            scene=streams(*HALF, Body(b'data: {"id":"chatcmpl-fidelity","choices":[{"index":0,"del'), HEARD, Cut()),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-no-finish",
            right="A stream that ends in good order as HTTP, with neither a reason for the end nor `[DONE]`, does "
            "not look complete.",
            body=stream(),
            scene=streams(*HALF),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-no-finish-told",
            right="An event tells the caller that the stream had no end.",
            body=stream(),
            scene=streams(*HALF),
            checks=(*BEHIND_TEXT, tells_error),
        ),
        Case(
            id="fail-no-finish-close",
            right="A stream without an end does not look complete where the end of the connection is that of the stream.",
            body=stream(),
            scene=streams(*HALF, wire=Wire(framing="close")),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-bad-chunk",
            right="A stream whose framing breaks does not look complete.",
            body=stream(),
            scene=streams(*HALF, HEARD, Raw(b"zz\r\nnonsense\r\n")),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-silence",
            right="A server that falls silent in the middle of its stream is given up. The gateway is set to wait "
            "for 5 s; within 25 s the caller has to know.",
            body=stream(),
            scene=streams(*HALF, Hang()),
            checks=BEHIND_TEXT,
            limit=25.0,
        ),
        Case(
            id="fail-silence-told",
            right="An event tells the caller that the server fell silent.",
            body=stream(),
            scene=streams(*HALF, Hang()),
            checks=(*BEHIND_TEXT, tells_error),
            limit=25.0,
        ),
        Case(
            id="fail-error",
            right="A stream in which the server tells an error does not look whole.",
            body=stream(),
            scene=streams(*HALF, Event(told("The engines are on fire."))),
            checks=BEHIND_TEXT,
        ),
        Case(
            id="fail-error-told",
            right="The server's error is told, in its words.",
            body=stream(),
            scene=streams(*HALF, Event(told("The engines are on fire."))),
            checks=(*BEHIND_TEXT, tells_error, error_event_says("The engines are on fire.")),
        ),
        Case(
            id="fail-error-first",
            right="An error that the server tells before any text is told, by the status or by an event.",
            body=stream(),
            scene=streams(Event(told("The engines are on fire."))),
            checks=UNSAID,
        ),
        Case(
            id="fail-once",
            right="A stream that had begun is not begun again with the same server.",
            body=stream(),
            scene=streams(*HALF, HEARD, Cut(reset=True)),
            checks=(*BEHIND_TEXT, asked(1)),
        ),
        Case(
            id="fail-head",
            right="That the connection ends behind the head of a stream is told.",
            body=stream(),
            scene=streams(Status(200), STREAM, Comment(), SOON, Cut()),
            checks=UNSAID,
        ),
        Case(
            id="fail-nothing",
            right="That the connection ends before there is any answer to a stream is told.",
            body=stream(),
            scene=streams(Cut()),
            checks=UNSAID,
        ),
        Case(
            id="fail-nonsense",
            right="That what comes is no HTTP at all is told.",
            body=stream(),
            scene=streams(Raw(b"SSH-2.0-OpenSSH_9.6\r\n")),
            checks=UNSAID,
        ),
        Case(
            id="fail-one-piece",
            right="Where a server answers a stream in one piece, the caller gets the text or an error, but not nothing.",
            body=stream(),
            scene=Scene((Body(completion({"index": 0, "message": message("All of it."), "finish_reason": "stop"})),)),
            checks=(says_or_fails("All of it."),),
        ),
        Case(
            id="fail-whole-nothing",
            right="A connection that ends before there is any answer in one piece is an error of the server's side.",
            body=ask(),
            scene=streams(Cut()),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="fail-whole-short",
            right="An answer in one piece that is shorter than its length says is an error of the server's side.",
            body=ask(),
            scene=streams(
                Status(200),
                Header("content-type", "application/json"),
                Header("content-length", "500"),
                Body('{"id":"c'),
                SOON,
                Cut(),
            ),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="fail-whole-reset",
            right="An answer in one piece whose connection is reset in the middle is an error of the server's side.",
            body=ask(),
            scene=streams(
                Header("content-type", "application/json"), Header("content-length", "500"), Body('{"id":"c'), SOON, Cut(reset=True)
            ),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="fail-whole-nonsense",
            right="What comes in place of an answer in one piece and is no HTTP at all is an error of the server's side.",
            body=ask(),
            scene=streams(Raw(b"SSH-2.0-OpenSSH_9.6\r\n")),
            checks=(fails(*SERVER_FAULTS),),
        ),
    ),
)
