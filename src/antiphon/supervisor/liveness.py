"""Asks a process over its Unix socket whether it is alive."""

import asyncio
import contextlib

QUESTION = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


async def is_silent(path: str, patience: float) -> bool:
    """Whether the process behind a socket says nothing for ``patience`` seconds, as one does whose event loop hangs.

    Any answer is a sign of life, an error too. So is a refused connection: the kernel accepts for a process that hangs, and the
    name of a socket may belong to a successor that did not start.
    """
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(QUESTION)
                await reader.read(1)
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except TimeoutError:
        return True
    except OSError:
        return False
    return False
