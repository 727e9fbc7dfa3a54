"""Bytes of streams into the splitter of events and the readers of the wire behind it."""

import random

from antiphon.execution.wire.openai import passthrough
from antiphon.execution.wire.openai.watch import Watch
from antiphon.transport import sse
from tests.fuzz import corpus, oracle
from tests.fuzz.fakes import HandLoop
from tests.fuzz.finding import Finding, same


class EventTarget:
    """However a stream is cut, its events are the same; whatever they hold, the readers come back."""

    name = "events"
    seeds = corpus.STREAMS
    words = corpus.EVENT_WORDS

    def __init__(self, loop: HandLoop) -> None:
        """The loop is not needed here."""

    def run(self, data: bytes, pieces: list[bytes], rng: random.Random) -> None:
        whole, parts = _feed([data]), _feed(pieces)
        same("bytes that came through whole", b"".join(whole), data)
        same("bytes that came through in pieces", b"".join(parts), data)
        wanted = oracle.events(data)
        same("events in one", _data(data), wanted)
        same("events in frames", [event for frame in parts for event in _data(frame)], wanted)
        same("events one by one", [event for frame in parts for part in sse.split(frame) for event in _data(part)], wanted)
        for frame in parts:
            _read(frame)

    def left_over(self) -> int:
        return 0


def _feed(pieces: list[bytes]) -> list[bytes]:
    """Frames, and at the end what had no end."""
    splitter = sse.EventSplitter()
    frames = [frame for piece in pieces if (frame := splitter.feed(piece))]
    for frame in frames:
        if frame[-1:] not in (b"\n", b"\r"):
            raise Finding(f"a frame that ends inside a line: {frame[-20:]!r}")
    return [*frames, *filter(None, [splitter.rest()])]


def _data(frame: bytes) -> list[str]:
    return [event.data for event in sse.parse(frame)]


def _read(frame: bytes) -> None:
    """Everything that the gateway does with a frame."""
    found = passthrough.chunks(frame)
    passthrough.begins(frame)
    for hides_usage in (True, False):
        watch = Watch(hides_usage)
        watch.take(frame)
        watch.usage()
    done = passthrough.up_to_done(frame)
    if done is not None and not frame.startswith(done):
        raise Finding("what goes out up to [DONE] is not what came in")
    for chunk in found:
        if chunk is not None and chunk.error is not None:
            passthrough.told_error(chunk.error, frame)
