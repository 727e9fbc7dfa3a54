"""A caller of an engine host without a network between them."""

import asyncio
import json

import msgspec

from antiphon.core.types import Headers
from antiphon.execution.engine_host import EngineHost
from antiphon.testing.fake_engine import FakeEngine
from antiphon.transport.server import Request, ResponseListener


class PeerResponder:
    """Keeps what it is told to send."""

    def __init__(self) -> None:
        self.listener: ResponseListener | None = None
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.writes: list[bytes] = []
        self.aborted = False
        self.closed = False
        self.complete = asyncio.Event()

    @property
    def started(self) -> bool:
        return self.status != 0

    def send(self, status: int, headers: Headers, body: bytes = b"") -> None:
        self.start(status, headers, body)
        self.end()

    def start(self, status: int, headers: Headers, first: bytes = b"") -> None:
        assert not self.started
        self.status = status
        self.headers = dict(headers)
        self.write(first)

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.body += data
        self.writes.append(data)

    def end(self, last: bytes = b"") -> None:
        self.body += last
        self._close()

    def abort(self) -> None:
        self.aborted = True
        self._close()

    def leave(self) -> None:
        """The peer closes its connection."""
        listener = self.listener
        self._close()
        if listener is not None:
            listener.gone()

    def _close(self) -> None:
        self.closed = True
        self.listener = None
        self.complete.set()

    # -- what a caller makes of it

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json()["error"]

    def events(self):
        """The data of all events, decoded but for ``[DONE]``."""
        texts = self.body.decode().split("\n\n")
        assert texts.pop() == ""
        assert all(text.startswith("data: ") for text in texts)
        return [text[6:] if text == "data: [DONE]" else json.loads(text[6:]) for text in texts]

    def chunks(self):
        events = self.events()
        assert events.pop() == "[DONE]"
        return events

    def text(self, index=0):
        """The text of one answer, streamed or not."""
        if self.headers[b"content-type"].startswith(b"application/json"):
            choice = self.json()["choices"][index]
            return choice["message"]["content"] if "message" in choice else choice["text"]
        choices = [choice for chunk in self.chunks() for choice in chunk["choices"] if choice["index"] == index]
        return "".join(choice["delta"].get("content", "") if "delta" in choice else choice["text"] for choice in choices)


class Served:
    """A host with a fake engine."""

    def __init__(self, engine: FakeEngine | None = None, name: str = "m") -> None:
        self.engine = engine or FakeEngine()
        self.host = EngineHost(name)
        self.host.attach(self.engine)

    def bare(self) -> "Served":
        """The same host before its engine has come."""
        self.host = EngineHost(self.host.name)
        return self

    def request(self, method: str, path: str, body: object = None, headers: Headers = ()) -> PeerResponder:
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        responder = PeerResponder()
        self.host.handle(Request(method, path.encode(), dict(headers), data), responder)
        return responder

    def ask(self, text: str = "hi", **fields: object) -> PeerResponder:
        """Begin a chat."""
        messages = [{"role": "user", "content": text}]
        return self.request("POST", "/v1/chat/completions", {"model": "m", "messages": messages, **fields})

    async def chat(self, text: str = "hi", **fields: object) -> PeerResponder:
        return await done(self.ask(text, **fields))

    async def started(self, calls: int = 1) -> None:
        """Wait until the engine has that many calls."""
        await until(lambda: len(self.engine.started) == calls)

    async def turn(self) -> None:
        """Let what is due on the loop happen."""
        for _ in range(3):
            await asyncio.sleep(0)

    async def complete(self, prompt: object = "once", **fields: object) -> PeerResponder:
        return await done(self.request("POST", "/v1/completions", {"model": "m", "prompt": prompt, **fields}))


async def done(responder: PeerResponder) -> PeerResponder:
    await responder.complete.wait()
    return responder


async def until(condition) -> None:
    """Let the loop turn until ``condition()`` holds."""
    async with asyncio.timeout(5):
        while not condition():  # what is waited for has no event
            await asyncio.sleep(0.001)
