"""Moderation, pictures and sounds at the door: calls of OpenAI's dialect, taken on by servers that speak it, as they are."""

import io
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from antiphon.testing import Body, Cut, Event, Gate, Hang, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
ABLE = {"moderations": True, "images": True, "speech": True, "transcription": True}
SOUND = bytes(range(256)) * 40
EVENTS = Header("content-type", "text/event-stream")
MPEG = Header("content-type", "audio/mpeg")


@pytest.fixture
def process(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream, capabilities=ABLE, models=[{"name": "mock-model", "upstream": "its-own-name"}])


@pytest.fixture
def client(process: Running) -> openai.OpenAI:
    return process.client()


def form_of(upstream: MockUpstream) -> tuple[str, bytes]:
    """Content type and body of the one request."""
    (request,) = upstream.requests
    return request.header("content-type"), request.body


def test_moderation(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body({"id": "m", "model": "its-own-name", "results": [{"flagged": True, "categories": {}}]}))
    told = client.moderations.create(model="mock-model", input=["kill", "love"])
    assert told.results[0].flagged
    assert told.model == "mock-model"
    (request,) = upstream.requests
    assert (request.path, request.json) == ("/v1/moderations", {"model": "its-own-name", "input": ["kill", "love"]})


def test_pictures_are_made(client: openai.OpenAI, upstream: MockUpstream) -> None:
    usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12, "input_tokens_details": {}}
    upstream.script(Body({"created": 1, "data": [{"b64_json": "aGk="}], "usage": usage}))
    told = client.images.generate(model="mock-model", prompt="a sea", size="1024x1024")
    assert told.data
    assert told.data[0].b64_json == "aGk="
    assert upstream.requests[0].path == "/v1/images/generations"
    assert upstream.requests[0].json == {"model": "its-own-name", "prompt": "a sea", "size": "1024x1024"}


def test_pictures_come_in_events(process: Running, client: openai.OpenAI, upstream: MockUpstream) -> None:
    part = {"type": "image_generation.partial_image", "b64_json": "aA==", "partial_image_index": 0}
    last = {
        "type": "image_generation.completed", "b64_json": "aGk=",
        "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    }  # fmt: skip
    upstream.script(EVENTS, Event(part, event=part["type"]), Event(last, event=last["type"]), wire=Wire(write_size=7))
    stream = client.images.generate(model="mock-model", prompt="a sea", stream=True, partial_images=1)
    assert [event.type for event in stream] == [part["type"], last["type"]]
    process.stop()
    (call,) = process.calls()
    assert (call["prompt_tokens"], call["completion_tokens"]) == (5, 7)


def test_pictures_that_break_off_are_no_pictures(client: openai.OpenAI, upstream: MockUpstream) -> None:
    part = {"type": "image_generation.partial_image", "b64_json": "aA==", "partial_image_index": 0}
    upstream.script(EVENTS, Event(part))
    with pytest.raises(openai.APIError, match="cut off"):
        list(client.images.generate(model="mock-model", prompt="a sea", stream=True))


def test_pictures_are_edited(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body({"created": 1, "data": [{"b64_json": "aGk="}]}))
    pictures = [("a.png", SOUND, "image/png"), ("b.png", SOUND[::-1], "image/png")]
    client.images.edit(model="mock-model", image=pictures, prompt="mock-model: größer", mask=("m.png", b"\r\n--", "image/png"))
    kind, body = form_of(upstream)
    assert upstream.requests[0].path == "/v1/images/edits"
    assert kind.startswith("multipart/form-data; boundary=")
    assert body.count(b"its-own-name") == 1
    assert "mock-model: größer".encode() in body
    assert SOUND in body
    assert SOUND[::-1] in body


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as the client calls it by now
def test_pictures_are_varied(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body({"created": 1, "data": [{"url": "http://x/y"}]}))
    told = client.images.create_variation(model="mock-model", image=io.BytesIO(SOUND), n=2)
    assert told.data
    assert told.data[0].url == "http://x/y"
    assert upstream.requests[0].path == "/v1/images/variations"


def test_speech_is_passed_on_as_it_comes(client: openai.OpenAI, upstream: MockUpstream) -> None:
    gate = Gate()
    upstream.script(MPEG, Body(SOUND[:5000]), gate, Body(SOUND[5000:]), wire=Wire(framing="chunked"))
    with client.audio.speech.with_streaming_response.create(model="mock-model", voice="alloy", input="hello") as told:
        assert told.headers["content-type"] == "audio/mpeg"
        pieces = told.iter_bytes(1000)
        begun = next(pieces)
        gate.open()
        assert begun + b"".join(pieces) == SOUND
    assert upstream.requests[0].path == "/v1/audio/speech"
    assert upstream.requests[0].json == {"model": "its-own-name", "voice": "alloy", "input": "hello"}


def test_speech_of_a_known_length(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(MPEG, Body(SOUND))
    assert client.audio.speech.create(model="mock-model", voice="alloy", input="hello").read() == SOUND


def test_speech_that_breaks_off_is_cut_off_for_the_caller_too(process: Running, upstream: MockUpstream) -> None:
    """Sound cannot end in an error, which is text: the connection is closed, so that the client knows that something is missing."""
    gate = Gate()
    upstream.script(MPEG, Body(SOUND), gate, Cut(), wire=Wire(framing="chunked"))
    asked = {"model": "mock-model", "voice": "alloy", "input": "hello"}
    heard: list[bytes] = []

    def listen(told: httpx2.Response) -> None:
        for piece in told.iter_raw():
            heard.append(piece)
            if sum(map(len, heard)) == len(SOUND):
                gate.open()

    with (
        httpx2.stream("POST", f"{process.url}/v1/audio/speech", json=asked) as told,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        listen(told)
    assert b"".join(heard) == SOUND


def test_speech_in_events(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, Event({"type": "speech.audio.delta", "audio": "aGk="}), Event({"type": "speech.audio.done"}))
    told = client.audio.speech.create(model="mock-model", voice="alloy", input="hello", stream_format="sse").read()
    assert told.count(b"speech.audio") == 2


@pytest.mark.parametrize("body", [Body({"error": {"message": "no voice", "code": 422}}), Body("nothing")])
def test_speech_that_is_none(client: openai.OpenAI, upstream: MockUpstream, body: Body) -> None:
    upstream.script(Header("content-type", "application/json"), body)
    with pytest.raises(openai.APIStatusError) as told:
        client.audio.speech.create(model="mock-model", voice="alloy", input="hello")
    assert told.value.status_code in (422, 502)


def test_what_is_heard(process: Running, client: openai.OpenAI, upstream: MockUpstream) -> None:
    usage = {"type": "tokens", "input_tokens": 14, "output_tokens": 3, "total_tokens": 17}
    upstream.script(Body({"text": "Grüße", "usage": usage}))
    told = client.audio.transcriptions.create(model="mock-model", file=("a.wav", SOUND, "audio/wav"), language="de")
    assert told.text == "Grüße"
    kind, body = form_of(upstream)
    assert upstream.requests[0].path == "/v1/audio/transcriptions"
    assert kind.startswith("multipart/form-data; boundary=")
    assert body.count(b"its-own-name") == 1
    assert SOUND in body
    process.stop()
    (call,) = process.calls()
    assert (call["prompt_tokens"], call["completion_tokens"]) == (14, 3)


@pytest.mark.parametrize(
    ("wanted", "kind", "text"),
    [
        ("text", "text/plain; charset=utf-8", "Grüße\n"),
        ("srt", "text/plain; charset=utf-8", "1\n00:00:00,000 --> 00:00:01,000\nGrüße\n"),
        ("vtt", "text/vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nGrüße\n"),
    ],
)
def test_what_is_heard_as_text(client: openai.OpenAI, upstream: MockUpstream, wanted: Any, kind: str, text: str) -> None:
    upstream.script(Header("content-type", kind), Body(text))
    told: Any = client.audio.transcriptions.create(model="mock-model", file=("a.wav", SOUND), response_format=wanted)
    assert told == text


def test_what_is_heard_in_events(client: openai.OpenAI, upstream: MockUpstream) -> None:
    deltas = [Event({"type": "transcript.text.delta", "delta": text}) for text in ("Grü", "ße")]
    upstream.script(EVENTS, *deltas, Event({"type": "transcript.text.done", "text": "Grüße"}), wire=Wire(write_size=1))
    stream = client.audio.transcriptions.create(model="mock-model", file=("a.wav", SOUND), stream=True)
    assert [event.type for event in stream] == ["transcript.text.delta"] * 2 + ["transcript.text.done"]


def test_a_server_that_streams_nothing_answers_all_the_same(client: openai.OpenAI, upstream: MockUpstream) -> None:
    """Whisper knows no streams, and leaves the wish for one aside."""
    upstream.script(Body({"text": "Grüße"}))
    with client.audio.transcriptions.with_streaming_response.create(model="mock-model", file=("a.wav", SOUND), stream=True) as told:
        assert told.json() == {"text": "Grüße"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as the client calls it by now
def test_what_is_translated(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body({"text": "greetings"}))
    assert client.audio.translations.create(model="mock-model", file=("a.wav", SOUND)).text == "greetings"
    assert upstream.requests[0].path == "/v1/audio/translations"


def test_errors_of_the_server_come_through(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.error(400, "the sound is too short", code="audio_too_short")
    with pytest.raises(openai.BadRequestError, match="too short") as told:
        client.audio.transcriptions.create(model="mock-model", file=("a.wav", SOUND))
    assert told.value.code == "audio_too_short"
    upstream.script(Status(500), Body("<html>"))
    with pytest.raises(openai.InternalServerError):
        client.audio.speech.create(model="mock-model", voice="alloy", input="hello")


def test_what_is_wrong_with_a_form_is_named(process: Running, upstream: MockUpstream) -> None:
    url = f"{process.url}/v1/audio/transcriptions"
    file = {"file": ("a.wav", SOUND)}
    told = httpx2.post(url, files=file)
    assert (told.status_code, told.json()["error"]["param"]) == (400, "model")
    told = httpx2.post(url, files=file, data={"model": "nobody"})
    assert (told.status_code, told.json()["error"]["code"]) == (404, "model_not_found")
    told = httpx2.post(url, files=file, data={"model": "mock-model", "base_url": "http://169.254.169.254"})
    assert (told.status_code, told.json()["error"]["param"]) == (400, "base_url")
    told = httpx2.post(url, content=b"--x\r\nnonsense", headers={"content-type": "multipart/form-data; boundary=x"})
    assert told.status_code == 400
    assert upstream.requests == []


def test_a_file_that_is_too_large_is_refused(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, capabilities=ABLE, more="server: {max_body_mb: 1}")
    with pytest.raises(openai.APIStatusError) as told:
        process.client().audio.transcriptions.create(model="mock-model", file=("a.wav", bytes(2 << 20)))
    assert told.value.status_code == 413
    assert upstream.requests == []


@pytest.mark.parametrize("ability", sorted(ABLE))
def test_a_model_that_cannot_do_it_says_so(start: Start, upstream: MockUpstream, second: MockUpstream, ability: str) -> None:
    process = start(upstream, capabilities={**ABLE, ability: False})
    client = process.client()
    calls: dict[str, Callable[[], Any]] = {
        "moderations": lambda: client.moderations.create(model="mock-model", input="a"),
        "images": lambda: client.images.generate(model="mock-model", prompt="a"),
        "speech": lambda: client.audio.speech.create(model="mock-model", voice="alloy", input="a"),
        "transcription": lambda: client.audio.transcriptions.create(model="mock-model", file=("a.wav", b"x")),
    }
    with pytest.raises(openai.BadRequestError, match="does not serve /v1/"):
        calls[ability]()
    assert upstream.requests == []


def test_speech_falls_back_before_its_first_sound(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    client = start(upstream, second, capabilities=ABLE).client()
    upstream.script(MPEG, Cut())
    second.script(MPEG, Body(SOUND))
    assert client.audio.speech.create(model="mock-model", voice="alloy", input="hello").read() == SOUND


def test_a_caller_who_leaves_while_it_is_spoken_to_ends_the_speech(process: Running, upstream: MockUpstream) -> None:
    upstream.script(MPEG, Body(SOUND), Hang(), wire=Wire(framing="chunked"))
    asked = {"model": "mock-model", "voice": "alloy", "input": "hello"}
    with httpx2.stream("POST", f"{process.url}/v1/audio/speech", json=asked) as told:
        assert next(told.iter_raw())
    assert upstream.requests[0].wait_closed(1.0)


@pytest.mark.parametrize("kind", ["audio/mpeg", "application/json", "text/event-stream"])
def test_an_answer_that_is_encoded_unasked_is_no_answer(process: Running, upstream: MockUpstream, kind: str) -> None:
    upstream.script(Header("content-type", kind), Header("content-encoding", "gzip"), Body(b"\x1f\x8b..."))
    asked = {"model": "mock-model", "voice": "alloy", "input": "hello"}
    told = httpx2.post(f"{process.url}/v1/audio/speech", json=asked)
    assert (told.status_code, told.json()["error"]["code"]) == (502, "upstream_truncated")


def test_an_error_inside_events_is_an_error(client: openai.OpenAI, upstream: MockUpstream) -> None:
    part = {"type": "image_generation.partial_image", "b64_json": "aA==", "partial_image_index": 0}
    upstream.script(EVENTS, Event(part), Event({"error": {"message": "not this picture", "code": "moderation_blocked"}}))
    stream = client.images.generate(model="mock-model", prompt="a sea", stream=True)
    with pytest.raises(openai.APIError, match="not this picture"):
        list(stream)


def test_a_form_reaches_the_next_server_in_a_chain_whole(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    client = start(upstream, second, capabilities=ABLE, models=[{"name": "mock-model", "upstream": "its-own-name"}]).client()
    upstream.error(503)
    second.script(Body({"text": "hello"}))
    assert client.audio.transcriptions.create(model="mock-model", file=("a.wav", SOUND)).text == "hello"
    assert upstream.requests[0].body == second.requests[0].body
    assert second.requests[0].body.count(b"its-own-name") == 1


def test_a_large_file_arrives_whole(client: openai.OpenAI, upstream: MockUpstream) -> None:
    large = b"\r\n--boundary\x00\xff" * 1_500_000
    upstream.script(Body({"text": "hello"}))
    client.audio.transcriptions.create(model="mock-model", file=("a.wav", large))
    assert large in upstream.requests[0].body


def test_pictures_may_be_edited_without_a_form(process: Running, upstream: MockUpstream) -> None:
    asked = {"model": "mock-model", "prompt": "größer", "images": [{"image_url": "https://example.com/a.png"}]}
    upstream.script(Body({"created": 1, "data": []}))
    told = httpx2.post(f"{process.url}/v1/images/edits", json=asked)
    assert told.json() == {"created": 1, "data": []}
    assert upstream.requests[0].json == {**asked, "model": "its-own-name"}
    assert upstream.requests[0].header("content-type") == "application/json"
