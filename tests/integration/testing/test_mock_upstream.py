import asyncio
import json
import socket
from datetime import UTC, datetime

import openai
import pytest

from antiphon.testing import Body, Comment, Cut, Delay, Done, Event, Gate, Hang, Header, MockUpstream, Raw, Status, Wire


@pytest.fixture
def upstream():
    with MockUpstream() as running:
        yield running


class RawClient:
    """A client of bytes: sees exactly what comes."""

    def __init__(self, upstream):
        self.socket = socket.create_connection(("127.0.0.1", upstream.port), timeout=5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def post(self, body=b'{"model":"m","messages":[]}', path="/v1/chat/completions", headers=""):
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)
        return self

    def read_until(self, end):
        data = b""
        while end not in data:
            piece = self.socket.recv(65536)
            if not piece:
                break
            data += piece
        return data

    def read_all(self):
        return self.read_until(b"\0no such bytes\0")


def client_of(upstream):
    return openai.OpenAI(base_url=upstream.url, api_key="sk-made-up", max_retries=0)


USER = [{"role": "user", "content": "hello wide world"}]


def test_the_official_client_gets_an_echo(upstream):
    client = client_of(upstream)
    answer = client.chat.completions.create(model="m", messages=USER, n=2)
    assert [choice.message.content for choice in answer.choices] == ["hello wide world"] * 2
    assert (answer.model, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("m", 3, 6)
    assert client.completions.create(model="m", prompt="a b").choices[0].text == "a b"
    assert [model.id for model in client.models.list()] == ["mock-model"]


@pytest.mark.parametrize(
    "wire", [Wire(), Wire(write_size=1, newline="\r\n"), Wire(merge=0), Wire(framing="close"), Wire(framing="length")]
)
def test_the_official_client_streams_however_the_bytes_come(upstream, wire):
    upstream.chat("Grüß ", "dich, ", "世界 🎉", wire=wire)
    stream = client_of(upstream).chat.completions.create(
        model="m", messages=USER, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Grüß dich, 世界 🎉"
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [6]
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_embeddings_are_the_same_as_floats_and_as_base64(upstream):
    client = client_of(upstream)
    floats = client.embeddings.create(model="m", input=["a", "b"], encoding_format="float")
    packed = client.embeddings.create(model="m", input=["a", "b"])
    assert [item.index for item in floats.data] == [0, 1]
    for one, other in zip(floats.data, packed.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
    assert floats.data[0].embedding != floats.data[1].embedding


@pytest.mark.parametrize(
    ("wait", "value"), [(3, "3"), (0.5, "0.5"), (datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), "Wed, 02 Jan 2030 03:04:05 GMT")]
)
def test_an_error_with_retry_after(upstream, wait, value):
    upstream.error(429, "slow down", retry_after=wait)
    with pytest.raises(openai.RateLimitError, match="slow down") as caught:
        client_of(upstream).chat.completions.create(model="m", messages=USER)
    assert caught.value.response.headers["retry-after"] == value


def test_requests_are_recorded(upstream):
    client_of(upstream).chat.completions.create(model="m", messages=USER, extra_headers={"X-Trace": "t1"})
    (request,) = upstream.requests
    assert (request.method, request.path, request.header("X-Trace")) == ("POST", "/v1/chat/completions", "t1")
    assert request.header("authorization") == "Bearer sk-made-up"
    assert request.json["messages"] == USER
    assert request.wait_answered()
    assert request.peer.startswith("127.0.0.1:")


def test_a_connection_is_used_again(upstream):
    with RawClient(upstream) as client:
        for _ in range(3):
            client.post().read_until(b"\r\n\r\n")
            assert upstream.wait_idle()
    assert [request.connection for request in upstream.requests] == [1, 1, 1]
    assert upstream.connections == 1


def test_connection_close_is_obeyed(upstream):
    with RawClient(upstream) as client:
        assert client.post(headers="connection: close\r\n").read_all().startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_chunked_request_is_read(upstream):
    with RawClient(upstream) as client:
        client.socket.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n"
        )
        client.read_until(b"\r\n\r\n")
    assert upstream.requests[0].body == b"{}\n"


def test_the_client_leaving_is_seen(upstream):
    upstream.script(Event("a"), Hang())
    with RawClient(upstream) as client:
        client.post().read_until(b"data: a")
        (request,) = upstream.requests
        assert request.closed_at is None
        assert upstream.in_flight == 1
    assert request.wait_closed(1.0)
    assert request.closed_at >= request.received_at
    assert request.answered_at is None
    assert upstream.wait_idle()
    assert upstream.open_connections == 0


def test_the_client_leaving_is_seen_while_it_does_not_read(upstream):
    upstream.script(*[Event(b"x" * 1_000_000)] * 50)
    with RawClient(upstream) as client:
        client.post().read_until(b"data: ")
    assert upstream.requests[0].wait_closed(2.0)
    assert upstream.wait_idle()


def test_a_gate_holds_the_answer(upstream):
    gate = Gate()
    upstream.script(Event("a"), gate, Event("b"))
    with RawClient(upstream) as client:
        seen = client.post().read_until(b"data: a\n\n")
        assert b"data: b" not in seen
        gate.open()
        assert b"data: b" in client.read_until(b"0\r\n\r\n")


def test_cuts(upstream):
    gate = Gate()
    upstream.script(Event("a"), Cut()).script(Event("a"), gate, Cut(reset=True)).script(Cut())
    with RawClient(upstream) as client:
        assert client.post().read_all().endswith(b"data: a\n\n\r\n")
    with RawClient(upstream) as client:
        client.post().read_until(b"data: a")
        gate.open()
        with pytest.raises(ConnectionResetError):
            client.read_all()
    with RawClient(upstream) as client:
        assert client.post().read_all() == b""


def test_malformed_answers_come_as_written(upstream):
    upstream.script(Raw(b"HTTP/1.1 banana\r\n\r\n")).script(Status(200), Event("a"), Raw(b"zz\r\nnonsense"))
    upstream.script(Header("content-length", "99"), Body("short"))
    with RawClient(upstream) as client:
        assert client.post().read_all() == b"HTTP/1.1 banana\r\n\r\n"
    with RawClient(upstream) as client:
        assert client.post().read_all().endswith(b"data: a\n\n\r\nzz\r\nnonsense")
    with RawClient(upstream) as client:
        answer = client.post().read_all()
        assert b"content-length: 99\r\n" in answer
        assert answer.endswith(b"\r\n\r\nshort")


def test_a_missing_finish_reason_and_a_missing_done(upstream):
    upstream.chat("a", finish=None, done=False)
    with RawClient(upstream) as client:
        answer = client.post(b'{"stream":true}').read_until(b"0\r\n\r\n")
    assert b"[DONE]" not in answer
    assert b'"finish_reason":"' not in answer


def test_big_events_and_many_events(upstream):
    upstream.script(Comment(), Event(b"x" * 4_000_000), Done())
    upstream.script(*[Event("t")] * 100_000, wire=Wire(merge=0))
    with RawClient(upstream) as client:
        assert len(client.post().read_until(b"0\r\n\r\n")) > 4_000_000
    with RawClient(upstream) as client:
        assert client.post(headers="connection: close\r\n").read_all().count(b"data: t\n\n") == 100_000


def test_requests_in_flight_are_counted(upstream):
    gate = Gate()
    upstream.script(gate, Body("x"), times=None)
    clients = [RawClient(upstream) for _ in range(5)]
    for client in clients:
        client.post()
    assert upstream.wait_requests(5)
    gate.open()
    for client in clients:
        client.read_until(b"x")
        client.socket.close()
    assert upstream.max_in_flight == 5


def test_a_script_may_be_a_function_and_may_fail(upstream):
    upstream.script(lambda request: [Body(request.json["model"])]).script(lambda request: [Body(request.json["nothing"])])
    with RawClient(upstream) as client:
        assert client.post().read_until(b"\r\n\r\nm").endswith(b"\r\n\r\nm")
        failed = client.post().read_until(b"script_failed")
    assert failed.startswith(b"HTTP/1.1 500")
    assert b"KeyError" in failed


def test_what_it_does_not_know_it_refuses(upstream):
    with RawClient(upstream) as client:
        assert client.post(path="/v1/nothing").read_until(b"}").startswith(b"HTTP/1.1 404")
        assert client.post(b"[1").read_until(b"}").startswith(b"HTTP/1.1 400")
        client.socket.sendall(b"\0\1 this is no HTTP\r\n\r\n")
        assert b"HTTP/1.1 400" in client.read_all()


def test_delays_pass(upstream):
    upstream.script(Delay(0.01), Body("x"))
    with RawClient(upstream) as client:
        assert client.post().read_until(b"x").endswith(b"x")


def test_cut_all_closes_idle_connections(upstream):
    with RawClient(upstream) as client:
        client.post().read_until(b"}")
        assert upstream.wait_idle()
        upstream.cut_all()
        assert client.read_all() == b""


def test_a_unix_socket(tmp_path):
    path = str(tmp_path / "up.sock")
    with MockUpstream(path) as upstream, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(path)
        upstream.chat("hi")
        client.sendall(
            b'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 13\r\n\r\n{"model":"m"}'
        )
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["choices"][0]["message"]["content"] == "hi"
    assert upstream.requests[0].peer == ""


def test_it_works_inside_a_coroutine():
    async def main():
        with MockUpstream() as upstream:
            upstream.script(Event("a"), Hang())
            reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
            await reader.readuntil(b"data: a")
            writer.close()
            await writer.wait_closed()
            assert await asyncio.to_thread(upstream.requests[0].wait_closed, 1.0)

    asyncio.run(main())


def test_it_stops_with_calls_open():
    with MockUpstream() as upstream:
        upstream.script(Hang())
        client = RawClient(upstream).post()
        assert upstream.wait_requests(1)
    with client:
        assert client.read_all() == b""
