"""Callers who leave."""

from antiphon.testing.fidelity.case import Act, Case, Crowd, Group, Leave, Until
from antiphon.testing.fidelity.checks import asked, closed_soon, others_go_on
from antiphon.testing.fidelity.words.openai import ask, delta, stream, streamed, streams, text
from antiphon.testing.steps import Delay, Done, Hang, Header, Status


def _slowly(number: int) -> list[Act]:
    return [*text(f"piece {number}. "), Delay(0.05)]


SLOWLY = [act for number in range(100) for act in _slowly(number)]
MEBIBYTE = 1 << 20

GROUP = Group(
    name="leave",
    title="Callers who leave",
    about="A model that goes on speaking to nobody costs money and a place. So the model's server must see within "
    "two seconds that the caller has gone, whatever it is doing, and must not be asked again.",
    sources=(
        "RFC 9112, 9.5, a server that detects that its client has gone: https://www.rfc-editor.org/rfc/rfc9112",
        "OpenAI guide, Streaming: the client closes the connection to stop: https://platform.openai.com/docs/guides/streaming-responses",
    ),
    cases=(
        Case(
            id="leave-speaking",
            right="The caller goes after 2 of 100 pieces, and the model's server sees it within two seconds.",
            body=stream(),
            scene=streamed(*SLOWLY),
            caller=Leave("piece 1"),
            checks=(closed_soon, asked(1)),
        ),
        Case(
            id="leave-silence",
            right="The model's server sees within two seconds that the caller has gone, while it is silent and "
            "there is nothing to write.",
            body=stream(),
            scene=streams(*text("one", " two"), Hang()),
            caller=Leave("two"),
            checks=(closed_soon, asked(1)),
        ),
        Case(
            id="leave-before-text",
            right="The model's server sees within two seconds that the caller has gone, when its stream has begun "
            "without any text.",
            body=stream(),
            scene=streams(Status(200), Header("content-type", "text/event-stream"), delta(role="assistant", content=""), Hang()),
            caller=Leave(),
            checks=(closed_soon, asked(1)),
        ),
        Case(
            id="leave-before-answer",
            right="The model's server sees within two seconds that the caller has gone, before it has begun to answer a stream.",
            body=stream(),
            scene=streams(Hang()),
            caller=Leave(),
            checks=(closed_soon, asked(1)),
        ),
        Case(
            id="leave-whole",
            right="The model's server sees within two seconds that the caller has gone, while an answer in one "
            "piece is waited for.",
            body=ask(),
            scene=streams(Hang()),
            caller=Leave(),
            checks=(closed_soon, asked(1)),
        ),
        Case(
            id="leave-flood",
            right="The model's server sees within two seconds that the caller has gone, while it sends faster than "
            "the caller had read.",
            body=stream(),
            scene=streams(*text(*["x" * 65_536] * 400), delta(finish="stop"), Done()),
            caller=Leave("xxxx"),
            checks=(closed_soon, asked(1)),
        ),
        Case(
            id="leave-no-retry",
            right="A call that fails when its caller has left is not tried again.",
            body=stream(),
            scene=streams(Until("never"), Status(503)),
            caller=Leave(),
            checks=(asked(1),),
        ),
        Case(
            id="leave-thirty",
            right="Thirty streams of 5 MiB that are dropped at once hold nobody up, and all are closed.",
            body=stream(),
            scene=streams(*text(*["y" * 65_536] * 80), delta(finish="stop"), Done()),
            caller=Crowd(30, MEBIBYTE // 16),
            checks=(closed_soon, others_go_on),
            limit=60.0,
        ),
    ),
)
