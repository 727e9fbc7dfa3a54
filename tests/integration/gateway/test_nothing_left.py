"""What a call held is freed when it ends, by itself: with the collector of cycles turned off nothing of it may stay."""

import asyncio
import gc
import http.client
import json
import logging
import socket
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop

from antiphon.bootstrap.snapshots.file import Snapshot
from antiphon.bootstrap.worker import Worker
from antiphon.config import load
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing import Body, Cut, Delay, Event, Hang, Header, MockUpstream, Status
from antiphon.testing.matrix.cells import player_of
from antiphon.testing.matrix.telling import Answer
from antiphon.transport.listeners import tcp_listener

PROTOCOLS = ("openai", "anthropic", "gemini", "ollama", "dashscope", "bedrock")
CHATS = ("chat/completions", "messages", "responses", "api/chat", "api/generate")
WORD = "x" * 300_000
"""What every body carries: whatever holds one after its call is seen."""
USER = [{"role": "user", "content": WORD}]
BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": USER},
    "completions": {"prompt": WORD},
    "responses": {"input": WORD},
    "responses/input_tokens": {"input": WORD},
    "embeddings": {"input": WORD},
    "rerank": {"query": "q", "documents": [WORD]},
    "v2/rerank": {"query": "q", "documents": [WORD]},
    "moderations": {"input": WORD},
    "images/generations": {"prompt": WORD},
    "images/edits": {"prompt": WORD},
    "images/variations": {"prompt": WORD},
    "audio/speech": {"input": WORD, "voice": "v"},
    "audio/transcriptions": {"prompt": WORD},
    "audio/translations": {"prompt": WORD},
    "messages": {"messages": USER, "max_tokens": 9},
    "messages/count_tokens": {"messages": USER},
    "api/chat": {"messages": USER},
    "api/generate": {"prompt": WORD},
    "api/embed": {"input": WORD},
    "api/embeddings": {"prompt": WORD},
}
KEY = "ck-" + "a" * 24
DATA = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 1}}
TOLD = Answer(texts=("one ", "two "))
FORM = (
    b'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n%b\r\n'
    b'--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n%b\r\n--b--\r\n'
)


ROUTES = (
    "routes: [{name: scheduled, max_calls: 1, adaptive: false, attempts: 2, retry_budget: 1, breaker: {minimum_calls: 1000000}}]"
)


class Bench:
    """A worker in this process, and models' servers that are played."""

    def __init__(self, folder: Path, upstream: MockUpstream) -> None:
        self.upstream = upstream
        self._answers: list[Sequence[Any]] = []
        upstream.script(lambda _: self._answers.pop(0) if len(self._answers) > 1 else self._answers[0], times=None)
        root = upstream.url.removesuffix("/v1")
        able = {"moderations": True, "images": True, "speech": True, "transcription": True, "rerank": True, "count_tokens": True}
        usual = {"idle_timeout": 0.3, "first_byte_timeout": 0.3}
        rows = [
            {
                **player_of(name).row(root),
                "name": name,
                "protocol": name,
                "models": [{"name": name, "upstream": "mock-model"}],
                **usual,
            }
            for name in PROTOCOLS
        ]
        rows.append({"name": "able", "url": upstream.url, "models": ["able"], "capabilities": able, **usual})
        rows.append({"name": "native", "url": upstream.url, "models": ["native"], "capabilities": {"responses": True}, **usual})
        rows.append({"name": "away", "url": "http://127.0.0.1:1/v1", "models": ["away"], **usual})
        aliases = "aliases: {either: [away, openai, anthropic], scheduled: [openai, anthropic]}"
        more = f"{aliases}\n{ROUTES}\nserver: {{log_calls: false, keys: [{{name: k, key: {KEY}}}]}}\n"
        file = folder / "antiphon.yaml"
        file.write_text(
            f"data_dir: {folder}/data\nmodels: []\nembeddings: {{enabled: false}}\nproviders: {json.dumps(rows)}\n{more}"
        )
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        listener = tcp_listener("127.0.0.1", 0)
        self.port = int(listener.getsockname()[1])
        self._folder = tempfile.TemporaryDirectory(prefix="ap-")

        async def start() -> Worker:
            worker = Worker(Snapshot.of(load(file, {"HOME": str(folder)}), 1), self._folder.name)
            await worker.listen("worker-0", [listener.detach()])
            return worker

        self._worker = self._run(start())

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def close(self) -> None:
        self._run(self._worker.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()
        self._folder.cleanup()

    # -- one call

    def play(self, *answers: Sequence[Any]) -> None:
        """Answer the calls that come so, the last one again and again."""
        self._answers = list(answers)

    def post(self, endpoint: str, body: bytes, key: str = KEY, kind: str = "application/json") -> int:
        """The status of an answer, which is read to its end."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"content-type": kind, **({"authorization": f"Bearer {key}"} if key else {})}
        try:
            connection.request("POST", ENDPOINTS[endpoint].path, body, headers)
            response = connection.getresponse()
            try:
                response.read()
            except http.client.IncompleteRead:
                return 0
            return response.status
        finally:
            connection.close()

    def leave(self, endpoint: str, body: bytes) -> int:
        """Hang up while a model's server has the call."""
        before = len(self.upstream.requests)
        with socket.create_connection(("127.0.0.1", self.port)) as sock:
            head = f"POST {ENDPOINTS[endpoint].path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n"
            sock.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            assert self.upstream.wait_requests(before + 1)
        assert self.upstream.requests[-1].wait_closed()
        return 499

    # -- what is left of calls

    def leaves_nothing(self, what: str, call: Callable[[], int]) -> int:
        """The status of calls of which nothing may be left."""
        call()  # what is made once and kept is made now
        self._forget()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        status = [call() for _ in range(2)][-1]
        deadline = time.monotonic() + 1
        while (grown := self._grown_since(before)) > len(WORD) // 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        kinds = [type(thing) for thing in gc.garbage]
        gc.garbage.clear()
        ours = {kind.__qualname__ for kind in kinds if kind.__module__.startswith("antiphon.") and "testing" not in kind.__module__}
        assert grown <= len(WORD) // 2, (what, status, grown, ours)
        assert not ours, (what, status, ours)
        return status

    def _grown_since(self, before: int) -> int:
        self._forget()
        return tracemalloc.get_traced_memory()[0] - before

    def _forget(self) -> None:
        for request in self.upstream.requests:
            request.body = b""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    logging.disable(logging.CRITICAL)  # whoever captures a record keeps the error in it, and that the frames of its call
    tracemalloc.start()
    try:
        with MockUpstream() as upstream:
            bench = Bench(tmp_path_factory.mktemp("bench"), upstream)
            gc.disable()
            gc.collect()
            gc.freeze()  # what is there already need not be looked at again and again
            try:
                yield bench
            finally:
                gc.unfreeze()
                gc.enable()
                bench.close()
    finally:
        tracemalloc.stop()
        logging.disable(logging.NOTSET)


def request(endpoint: str, model: str, **more: Any) -> bytes:
    return json.dumps({"model": model, **BODIES[endpoint], **more}).encode()


def test_every_endpoint_is_called_here() -> None:
    assert BODIES.keys() == ENDPOINTS.keys()


REFUSED: dict[str, Callable[[str], bytes]] = {
    "no JSON": lambda endpoint: b"x" + request(endpoint, "openai"),
    "no object": lambda endpoint: json.dumps([WORD]).encode(),
    "no UTF-8": lambda endpoint: request(endpoint, "openai").replace(b"xxx", b"\xff\xfe\xfd", 1),
    "half a character": lambda endpoint: request(endpoint, "openai").replace(b"xxx", b"\\ud83d", 1),
    "nested too deeply": lambda endpoint: request(endpoint, "openai")[:-1] + b',"z":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "no model": lambda endpoint: json.dumps(BODIES[endpoint]).encode(),
    "empty name": lambda endpoint: request(endpoint, ""),
    "unknown model": lambda endpoint: request(endpoint, "nobody"),
    "model of a wrong type": lambda endpoint: json.dumps({**BODIES[endpoint], "model": 3}).encode(),
    "address of a server": lambda endpoint: request(endpoint, "openai", api_base="http://x"),
}
"""Bodies that are refused wherever they are sent, by us or by the server."""


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_refused_calls(bench: Bench, endpoint: str) -> None:
    assert bench.leaves_nothing("no key", lambda: bench.post(endpoint, request(endpoint, "openai"), key="")) == 401
    assert bench.leaves_nothing("wrong key", lambda: bench.post(endpoint, request(endpoint, "openai"), key="ck-wrong")) == 401
    bench.play([Status(400), Body({"error": {"message": "m"}})])  # of texts that are none only their reader hears
    for what, body in REFUSED.items():
        assert bench.leaves_nothing(what, partial(bench.post, endpoint, body(endpoint))) in (400, 404), what
    if ENDPOINTS[endpoint].forms:
        broken = {"unknown model": FORM % (b"nobody", WORD.encode()), "cut off": (FORM % (b"able", WORD.encode()))[:-9]}
        for what, form in broken.items():
            status = bench.leaves_nothing(what, partial(bench.post, endpoint, form, kind="multipart/form-data; boundary=b"))
            assert status in (400, 404), what


def failures(protocol: str) -> dict[str, Sequence[Any]]:
    """What a model's server may do wrong, before and in an answer."""
    begun = (player_of(protocol).stream(TOLD) or ())[:3]
    return {
        "closed at once": [Cut()],
        "no JSON": [Body("<html>")],
        "no answer": [Body("{}")],
        "no object": [Body("[1]")],
        "an error": [Status(500), Body({"error": {"message": "m"}})],
        "a refusal": [Status(400), Body({"error": {"message": "m"}})],
        "a page": [Status(502), Header("content-type", "text/html"), Body("<html>")],
        "an error inside": [Body({"error": {"message": "m", "code": 500}})],
        "encoded": [Header("content-encoding", "gzip"), Body("x")],
        "an error as an event": [Header("content-type", "text/event-stream"), Event({"error": {"message": "m"}})],
        "broken off": [*begun, Cut()],
        "ended early": begun,
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("endpoint", CHATS)
def test_chats(bench: Bench, endpoint: str, protocol: str) -> None:
    """Answered, failed in every way, and left by the caller, in one piece and streamed."""
    player = player_of(protocol)
    for stream in (False, True):
        body = request(endpoint, protocol, stream=stream)
        ways = {"answered": player.stream(TOLD) if stream or protocol == "dashscope" else player.whole(TOLD), **failures(protocol)}
        for what, steps in ways.items():

            def call(steps: Any = steps or (), body: bytes = body) -> int:
                bench.play(steps)
                return bench.post(endpoint, body)

            status = bench.leaves_nothing(f"{what}, stream={stream}", call)
            assert what != "answered" or status == 200, (what, stream, status)

        def hang_up(body: bytes = body) -> int:
            bench.play([Hang()])
            return bench.leave(endpoint, body)

        bench.leaves_nothing(f"left, stream={stream}", hang_up)


@pytest.mark.parametrize("protocol", ["openai", "gemini"])
@pytest.mark.parametrize("endpoint", ["chat/completions", "responses"])
def test_servers_that_fall_silent(bench: Bench, endpoint: str, protocol: str) -> None:
    begun = (player_of(protocol).stream(TOLD) or ())[:3]
    for what, steps in {"at once": [Hang()], "in the middle": [*begun, Hang()]}.items():

        def call(steps: Any = steps) -> int:
            bench.play(steps)
            return bench.post(endpoint, request(endpoint, protocol, stream=True))

        assert bench.leaves_nothing(what, call) in (200, 504)


NOT_SAID: dict[str, dict[str, Any]] = {
    "unknown field": {"nobody_knows": 1},
    "wrong type": {"temperature": "x"},
    "tool of a vendor": {"tools": [{"type": "web_search"}]},
    "no messages": {"messages": [], "input": [], "prompt": 3},
    "wrong message": {"messages": [{"role": "x", "content": WORD}], "input": [{"role": "x", "content": WORD}]},
    "left out": {"nobody_knows": 1, "drop_unsupported": True},
    "previous response": {"previous_response_id": "resp_ap" + "0" * 32},
    "unknown item": {"input": [{"type": "item_reference", "id": "msg_ap" + "0" * 32 + "_0"}, {"role": "user", "content": WORD}]},
    "sent to be kept": {"store": True},
    "not to be kept": {"store": False},
}
"""What cannot be said in another dialect, or only in some."""
PASSED = {("chat/completions", "openai"), ("messages", "anthropic"), ("api/chat", "ollama"), ("api/generate", "ollama")}
"""Where calls go on as they came, whatever they say."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("endpoint", CHATS)
def test_chats_that_cannot_be_translated(bench: Bench, endpoint: str, protocol: str) -> None:
    player = player_of(protocol)
    refused = 0
    for what, more in NOT_SAID.items():

        def call(more: dict[str, Any] = more) -> int:
            bench.play((player.stream if protocol == "dashscope" else player.whole)(TOLD) or ())
            return bench.post(endpoint, request(endpoint, protocol, **{"stream": False, **more}))

        refused += bench.leaves_nothing(what, call) == 400
    assert bool(refused) != ((endpoint, protocol) in PASSED)


@pytest.mark.parametrize("endpoint", CHATS)
def test_servers_that_are_away_and_those_behind_them(bench: Bench, endpoint: str) -> None:
    for stream in (False, True):
        away = request(endpoint, "away", stream=stream)
        assert bench.leaves_nothing("away", partial(bench.post, endpoint, away)) == 502

        def fall_back(stream: bool = stream) -> int:
            player = player_of("anthropic")
            bench.play([Status(500), Body("{}")], (player.stream if stream else player.whole)(TOLD) or ())
            return bench.post(endpoint, request(endpoint, "either", stream=stream))

        assert bench.leaves_nothing("fallen back", fall_back) == 200


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("endpoint", ["chat/completions", "messages"])
def test_scheduled_calls(bench: Bench, endpoint: str, stream: bool) -> None:
    """Answered, refused, failed at all replicas, and left while they are answered."""
    body = request(endpoint, "scheduled", stream=stream)

    def answered() -> int:
        player = player_of("openai")
        bench.play((player.stream if stream else player.whole)(TOLD) or ())
        return bench.post(endpoint, body)

    def failed() -> int:
        bench.play([Status(500), Body("{}")])
        return bench.post(endpoint, body)

    def left() -> int:
        bench.play([Hang()])
        return bench.leave(endpoint, body)

    bench.leaves_nothing("answered", answered)
    assert bench.leaves_nothing("failed", failed) == 500
    bench.leaves_nothing("left", left)


def test_conversations(bench: Bench) -> None:
    """Kept, continued, read again and forgotten; and passed on to a server that keeps its own."""
    answer = player_of("openai").whole(TOLD) or ()

    def ask(**more: Any) -> str:
        bench.play(answer)
        connection = http.client.HTTPConnection("127.0.0.1", bench.port, timeout=20)
        connection.request("POST", "/v1/responses", request("responses", "openai", **more), {"authorization": f"Bearer {KEY}"})
        told = json.loads(connection.getresponse().read())
        connection.close()
        return str(told["id"])

    def asked_again(method: str, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", bench.port, timeout=20)
        connection.request(method, path, headers={"authorization": f"Bearer {KEY}"})
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status

    first = ask()
    bench.leaves_nothing("continued", lambda: len(ask(previous_response_id=first)))
    for path in (f"/v1/responses/{first}", f"/v1/responses/{first}/input_items"):
        assert bench.leaves_nothing(path, partial(asked_again, "GET", path)) == 200
    assert bench.leaves_nothing("deleted", lambda: asked_again("DELETE", f"/v1/responses/{ask()}")) == 200
    for stream in (False, True):
        for what, steps in {"cut": [Cut()], "odd": [Body("<html>")], "late": [Delay(0.05), Cut()]}.items():

            def native(steps: Any = steps, stream: bool = stream) -> int:
                bench.play(steps)
                return bench.post("responses", request("responses", "native", stream=stream))

            assert bench.leaves_nothing(what, native) == 502


@pytest.mark.parametrize("endpoint", [name for name in ENDPOINTS if name not in CHATS])
def test_calls_that_are_no_chats(bench: Bench, endpoint: str) -> None:
    ways: dict[str, Sequence[Any]] = {
        "answered": [Body({**DATA, "results": [{"index": 0, "relevance_score": 0.5}], "input_tokens": 3})],
        **failures("openai"),
    }
    forms = ENDPOINTS[endpoint].forms
    for what, steps in ways.items():

        def call(steps: Any = steps) -> int:
            bench.play(steps)
            if forms:
                return bench.post(endpoint, FORM % (b"able", WORD.encode()), kind="multipart/form-data; boundary=b")
            return bench.post(endpoint, request(endpoint, "able"))

        bench.leaves_nothing(what, call)
    refused = request(endpoint, "able", stream="x", nobody_knows=1)
    assert bench.leaves_nothing("refused", lambda: bench.post(endpoint, refused)) == 400
