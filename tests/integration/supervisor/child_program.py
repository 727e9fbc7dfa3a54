"""A child that stands in for every role, so that no model is needed. What it does is told by TEST_BEHAVIOUR."""

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from antiphon.bootstrap.process import Child, Update, encode_spec, encode_update, run, socket_path
from antiphon.core.errors import SetupError

BEHAVIOUR = os.environ.get("TEST_BEHAVIOUR", "")


class Server:
    """Answers ``GET /<seconds>`` after so many seconds with what is known of this process."""

    def __init__(self, child: Child) -> None:
        self._about = {
            "name": child.spec.name,
            "pid": os.getpid(),
            "epoch": child.spec.epoch,
            "aliases": sorted(child.spec.settings.aliases),
            "spec_bytes": len(encode_spec(child.spec)),
            "keys": [row.key.reveal() for row in child.spec.settings.providers],
            "told": encode_spec(child.spec).decode(),
            "argv": sys.argv,
            "environment": dict(os.environ),
        }
        self._run_dir = child.spec.run_dir
        self._servers: list[asyncio.Server] = []
        self._public: dict[int, asyncio.Server] = {}
        self._running: set[asyncio.Task[None]] = set()

    def take(self, update: Update) -> None:
        if BEHAVIOUR == "refuses-updates":
            raise SetupError("these are not to its taste", remedy="season them")
        if BEHAVIOUR == "trips-over-updates":
            raise KeyError("a fault")
        if BEHAVIOUR == "hangs-at-updates":
            time.sleep(1000)
        self._about["aliases"] = sorted(update.settings.aliases)
        self._about["told"] = encode_update(update).decode()

    async def listen(self, child: Child) -> None:
        await self.hold({fd: fd for fd in child.spec.listen_fds})
        path = socket_path(child.spec.run_dir, child.spec.name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        private = socket.socket(socket.AF_UNIX)
        private.bind(path)
        self._servers.append(await asyncio.start_server(self._take, sock=private))

    async def hold(self, public: Mapping[int, int | None]) -> None:
        if BEHAVIOUR == "refuses-sockets-updates" and self._public:
            raise SetupError("these are not to its taste")
        for number, fd in public.items():
            if fd is not None:
                self._public[number] = await asyncio.start_server(self._take, sock=socket.socket(fileno=fd), backlog=4096)
        for number in self._public.keys() - public.keys():
            self._public.pop(number).close()

    async def drain(self) -> None:
        for server in (*self._servers, *self._public.values()):
            server.close()
        await asyncio.sleep(0)  # who was accepted in this very turn is not among the running yet
        if self._running:
            await asyncio.wait(self._running)

    def _note(self, path: str) -> None:
        fresh = Path(self._run_dir, f"{os.getpid()}-{path}")
        fresh.write_text(str(self._about["name"]))
        fresh.replace(Path(self._run_dir, f"asked-for-{path}"))

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._answer(reader, writer))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split()[1].decode().lstrip("/")
            self._note(path)
            if path == "hang":
                time.sleep(1000)  # noqa: ASYNC251 - the loop shall hang
            with contextlib.suppress(ValueError):
                await asyncio.sleep(float(path))
            body = json.dumps(self._about).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
        writer.close()


async def main(child: Child) -> None:
    child.loading("getting up")
    if BEHAVIOUR == "setup-error":
        raise SetupError(f"{child.spec.name} has no legs", remedy="give it legs")
    if Path(child.spec.run_dir, f"broken-{child.spec.name}").exists():  # noqa: ASYNC240 - nothing else runs yet
        raise SetupError(f"{child.spec.name} is broken", remedy="remove the file that says so")
    while Path(child.spec.run_dir, f"slow-{child.spec.name}").exists():  # noqa: ASYNC240 - nothing else runs yet
        await asyncio.sleep(0.05)
    if BEHAVIOUR == "crash":
        sys.exit(3)
    if BEHAVIOUR == "never-ready":
        await child.stopping.wait()
    if BEHAVIOUR == "stuck":
        ignore_term()
        child.loading("for ever")
        await asyncio.sleep(1000)
    server = Server(child)
    await server.listen(child)
    if BEHAVIOUR == "late-error":
        raise SetupError(f"{child.spec.name} lost its legs", remedy="find them")
    if BEHAVIOUR == "ignore-term":
        ignore_term()
    takes = BEHAVIOUR.endswith("-updates")
    child.ready(server.take if takes else None, server.hold if takes else None)
    if BEHAVIOUR == "busy-in-c":
        ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock, so that no Python thread runs
    await child.stopping.wait()
    if BEHAVIOUR == "slow-to-end":
        await asyncio.sleep(1000)
    await server.drain()


def ignore_term() -> None:
    asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(run(main))
