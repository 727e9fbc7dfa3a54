"""Asks a server for streamed completions over HTTP, and notes when each piece of text arrives."""

import asyncio
import time
from collections.abc import Sequence

import msgspec

from benchmarks.processes import Trouble

TIMEOUT = 300.0
"""Seconds that one call may take."""
FIRST_ID, LAST_ID = 100, 999
"""Tokens of prompts: small ones are no control tokens, and with its comma each takes the four bytes of an average token of text."""


class Place(msgspec.Struct, frozen=True):
    """A model at a server on this machine that speaks OpenAI's protocol."""

    port: int
    model: str


class Ask(msgspec.Struct, frozen=True):
    """One call: a prompt in token ids, and exactly how many tokens answer it."""

    prompt: Sequence[int]
    output: int


class Heard(msgspec.Struct, frozen=True):
    """What came of a call. Times are those of ``time.monotonic``."""

    id: str
    """As the server names the call (``x-request-id``)."""
    sent: float
    first: float
    """When the first piece of text came."""
    last: float
    """When the last one came."""
    prompt_tokens: int
    output_tokens: int

    @property
    def ttft(self) -> float:
        """Seconds to the first piece of text."""
        return self.first - self.sent

    @property
    def total(self) -> float:
        """Seconds to the last one."""
        return self.last - self.sent

    @property
    def per_token(self) -> float:
        """Seconds from one token to the next, on the mean."""
        return (self.last - self.first) / max(1, self.output_tokens - 1)


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int


class _Choice(msgspec.Struct):
    text: str = ""


class _Event(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Event).decode


async def ask(place: Place, what: Ask) -> Heard:
    """One call, on a connection of its own. Raises Trouble where it is not answered whole, and in the wanted length."""
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _ask(place, what)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, msgspec.MsgspecError) as error:
        raise Trouble(f"a call to {place.model} on port {place.port} failed: {error!r}") from error


async def _ask(place: Place, what: Ask) -> Heard:
    body = msgspec.json.encode(
        {
            "model": place.model,
            "max_tokens": what.output,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            "prompt": list(what.prompt),
        }
    )
    head = f"POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    sent = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    try:
        writer.write(head.encode() + body)
        status, name = _head(await reader.readuntil(b"\r\n\r\n"))
        if status != 200:
            raise Trouble(
                f"{place.model} on port {place.port} answers {status}: {(await reader.read(600)).decode(errors='replace')}"
            )
        first = last = 0.0
        usage = None
        while line := await reader.readline():
            if not line.startswith(b"data: {"):
                continue  # chunk sizes, blank lines and the end
            event = _decode(line[6:])
            usage = event.usage or usage
            if any(choice.text for choice in event.choices):
                last = time.monotonic()
                first = first or last
    finally:
        writer.close()
    if usage is None or not first or usage.completion_tokens != what.output:
        counted = "no usage" if usage is None else f"{usage.completion_tokens} tokens"
        raise Trouble(f"{place.model} on port {place.port} tells {counted} where {what.output} were asked for")
    return Heard(name, sent, first, last, usage.prompt_tokens, usage.completion_tokens)


def _head(data: bytes) -> tuple[int, str]:
    """Status of an answer, and the name that the server gave the call."""
    status, *lines = data.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(status.split()[1]), headers.get("x-request-id", "")
