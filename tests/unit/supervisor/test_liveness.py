import asyncio
import socket
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from antiphon.supervisor.liveness import is_silent


@pytest.fixture
def path():
    with TemporaryDirectory(prefix="lv-") as folder:
        yield f"{folder}/x.sock"


async def ask(path: str, reply: bytes | None) -> bool:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"GET /health HTTP/1.1\r\n")
        if reply is None:
            await reader.read()
        else:
            writer.write(reply)
        writer.close()

    async with await asyncio.start_unix_server(take, path):
        return await is_silent(path, 0.2 if reply is None else 10.0)


@pytest.mark.parametrize(
    ("reply", "silent"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", False),
        (b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n", False),
        (b"", False),
        (b"nonsense", False),
        (None, True),
    ],
)
def test_only_silence_counts(path, reply, silent):
    assert asyncio.run(ask(path, reply)) is silent


def test_one_that_nobody_listens_for_does_not_hang(path):
    assert asyncio.run(is_silent(path, 10.0)) is False
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        assert Path(path).exists()
        assert asyncio.run(is_silent(path, 10.0)) is False
