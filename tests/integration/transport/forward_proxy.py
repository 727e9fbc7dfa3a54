"""An HTTP proxy that opens tunnels and passes requests on, for tests."""

import asyncio
import base64
import contextlib
import threading
from typing import Self


class ForwardProxy:
    """``with ForwardProxy() as proxy``. It goes wherever it is told to, unless ``refuses`` names a status for every request.

    ``hosts`` maps names to addresses, as a proxy resolves names itself.
    """

    def __init__(self, credentials: str = "", refuses: int = 0, garbage: bytes = b"", hosts: dict[str, str] | None = None) -> None:
        self._wanted = f"Basic {base64.b64encode(credentials.encode()).decode()}" if credentials else ""
        self._refuses = refuses
        self._garbage = garbage
        self._hosts = hosts or {}
        self.heads: list[str] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._main, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _main(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        if self._garbage:
            writer.write(self._garbage)
            await writer.drain()
            return
        status = 407 if self._wanted and f"proxy-authorization: {self._wanted}\r\n" not in head else self._refuses
        if status:
            writer.write(b"HTTP/1.1 %d No\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nno" % status)
            await writer.drain()
            return
        method, target, _ = head.split(" ", 2)
        host, _, port = (target if method == "CONNECT" else target.split("/")[2]).rpartition(":")
        up_reader, up_writer = await asyncio.open_connection(self._hosts.get(host, host), int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            up_writer.write(head.replace(f"http://{host}:{port}", "", 1).encode("latin-1"))
        root = b"" if method == "CONNECT" else f"http://{host}:{port}".encode()
        await asyncio.gather(_pump(reader, up_writer, root), _pump(up_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, without: bytes = b"") -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data.replace(without, b"") if without else data)
            await writer.drain()
    finally:
        writer.close()
