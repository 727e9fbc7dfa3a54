"""Asks servers something, with the client that calls use: what is seen here is what calls see."""

import asyncio
from collections.abc import Mapping
from typing import TypeVar

import msgspec
import uvloop

from antiphon.core.errors import AntiphonError, UpstreamTimeout
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route

PATIENCE = 10.0
"""Seconds for a whole answer."""
MAX_BODY = 1 << 16
"""Bytes of an answer that are read; the rest is not waited for."""

Name = TypeVar("Name")


class Answer(msgspec.Struct, frozen=True):
    """What a server answered."""

    status: int
    headers: Headers
    body: bytes = b""

    def header(self, name: str) -> str:
        """A header's value, empty where there is none."""
        wanted = name.lower().encode()
        return next((value.decode("latin-1") for key, value in self.headers if key == wanted), "")


class Question(msgspec.Struct, frozen=True):
    """A GET request."""

    origin: Origin
    path: str
    headers: Headers = ()
    max_body: int = MAX_BODY
    """0: the head of the answer is enough."""
    route: Route | None = None


def ask(origin: Origin, path: str, route: Route | None = None) -> Answer:
    """The answer to one GET. Raises what keeps it from coming."""
    answer = ask_all({"it": Question(origin, path, route=route)})["it"]
    if isinstance(answer, AntiphonError):
        raise answer
    return answer


def ask_all(questions: Mapping[Name, Question], patience: float = PATIENCE) -> dict[Name, Answer | AntiphonError]:
    """Ask all of them at once, and give each one's answer or what kept it from coming, within ``patience`` seconds."""

    async def gather() -> dict[Name, Answer | AntiphonError]:
        answers = await asyncio.gather(*(_asked(question, patience) for question in questions.values()))
        return dict(zip(questions, answers, strict=True))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(gather())


async def _asked(question: Question, patience: float) -> Answer | AntiphonError:
    timeouts = ClientTimeouts(connect=patience, first_byte=patience, idle=patience)
    pool = ClientPool(question.origin, timeouts, 1, route=question.route)
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    exchange = pool.request("GET", question.path, question.headers, b"", _Receiver(future, question.max_body))
    try:
        async with asyncio.timeout(patience):
            return await future
    except TimeoutError:
        return UpstreamTimeout(
            f"{question.origin} gave no answer within {patience:g} s", remedy="see whether it is stopped or busy"
        )
    except AntiphonError as error:
        return error
    finally:
        exchange.cancel()
        await pool.close()


class _Receiver:
    """Takes an answer up to so many bytes of its body."""

    def __init__(self, future: "asyncio.Future[Answer]", max_body: int) -> None:
        self._future = future
        self._max_body = max_body
        self._answer = Answer(0, ())

    def head(self, status: int, headers: Headers) -> None:
        self._answer = Answer(status, headers)
        if not self._max_body:
            self.complete()

    def data(self, chunk: bytes) -> None:
        body = self._answer.body + chunk
        self._answer = msgspec.structs.replace(self._answer, body=body[: self._max_body])
        if len(body) > self._max_body:
            self.complete()

    def complete(self) -> None:
        if not self._future.done():
            self._future.set_result(self._answer)

    def broken(self, error: AntiphonError) -> None:
        if not self._future.done():
            self._future.set_exception(error)
