"""A streamed answer that is written anew: what some dialects must keep of it for their last event is bounded."""

import json
from collections.abc import Iterator

import pytest

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Call
from antiphon.execution.executor import translated
from antiphon.execution.executor.translation import translated as in_words_of
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing import RecordingSink
from antiphon.testing.matrix.callers import CALLERS, Caller
from antiphon.testing.matrix.cells import providers
from antiphon.testing.matrix.telling import Ask

STREAM = ((b"content-type", b"text/event-stream"),)


def pieces(text: str, count: int) -> Iterator[bytes]:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    yield b'event: message_start\ndata: {"type":"message_start","message":{"id":"m"}}\n\n'
    for _ in range(count):
        yield b"event: content_block_delta\ndata: %b\n\n" % json.dumps(delta).encode()


@pytest.mark.parametrize("dialect", [name for name in CALLERS.names() if name != "anthropic"])
@pytest.mark.parametrize(("text", "count"), [("x" * 1000, 10), ("x", 1000)], ids=["long pieces", "tiny pieces"])
def test_an_answer_without_an_end_is_cut_off(dialect: str, text: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translated, "MAX_WORDS", 5000)
    caller: Caller = CALLERS.load(dialect)
    provider = providers()["anthropic"]
    body = json.dumps(caller.request(Ask(), stream=True)).encode()
    call = Call("r1", caller.endpoint, "m", body, stream=True, dialect=ENDPOINTS[caller.endpoint].caller.name)
    stream = in_words_of(call, provider, "m").stream
    assert stream is not None
    sink = RecordingSink()
    answer = translated.TranslatedStream(sink, provider, call, stream)
    answer.head(200, STREAM)
    for piece in pieces(text, count):
        answer.data(piece)
    assert isinstance(sink.error, UpstreamBroken)
    assert "an answer of more than" in str(sink.error)
    assert 0 < sum(len(frame.raw) for frame in sink.frames) < 100_000
