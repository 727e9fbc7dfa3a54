"""What came of a case: what the caller got, and what the model's server was asked."""

from typing import Any, NoReturn

import msgspec

from antiphon.core.types import Headers
from antiphon.testing.recorded_request import RecordedRequest

SHOWN = 160
"""Characters of an answer that a reason quotes."""


class Miss(Exception):
    """The case is not passed; the text says why."""


class Answer(msgspec.Struct, frozen=True):
    """An answer as its bytes came over the network, the framing of HTTP taken off."""

    status: int = 0
    """0: there was none."""
    headers: Headers = ()
    body: bytes = b""
    fault: str = ""
    """What broke it off; empty where it ended as HTTP wants it."""
    late: bool = False
    """Its end was waited for in vain."""

    def header(self, name: str) -> str:
        """The first field of that name, empty where there is none."""
        wanted = name.lower().encode()
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == wanted), "")


class Wait(msgspec.Struct, frozen=True):
    """How long a small question beside a case waited for its answer."""

    seconds: float
    """Beyond what it takes without the gateway."""
    fault: str = ""
    """What came in place of an answer; empty where it was answered."""


class Outcome(msgspec.Struct, frozen=True):
    """What a check looks at."""

    answer: Answer = Answer()
    callers: str = "openai"
    """The dialect of the answer."""
    server: str = "openai"
    """The dialect of the model's server."""
    streamed: bool = False
    """The caller asked for a stream."""
    asked: tuple[RecordedRequest, ...] = ()
    """What the model's server was sent, in order of arrival."""
    sent: tuple[bytes, ...] = ()
    """The bodies of those, with the mark as it stands in the case."""
    closed_after: float | None = None
    """Seconds from the caller's leaving until the last of the server's connections was closed; None: they were not."""
    held_back: bool = False
    """The caller did not get in time what the server had said."""
    waits: tuple[Wait, ...] = ()
    """Of the small questions beside it."""

    @property
    def request(self) -> Any:
        """What the model's server was asked, decoded. Raises Miss where it was not asked."""
        if not self.sent:
            miss(f"the model's server was not asked; the gateway answered {self.summary}")
        return decoded(self.sent[-1], "what the model's server was sent")

    @property
    def summary(self) -> str:
        """The answer in a few words."""
        answer = self.answer
        if not answer.status:
            return f"nothing: {answer.fault}"
        return f"status {answer.status}: {shown(answer.body.decode('utf-8', 'replace'))}"


def miss(why: str) -> NoReturn:
    """Raise Miss."""
    raise Miss(why)


def decoded(body: bytes, what: str) -> Any:
    """JSON decoded. Raises Miss where it is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Miss(f"{what} is not JSON ({error}): {shown(body.decode('utf-8', 'replace'))}") from error


def shown(value: Any) -> str:
    """A value, short enough to be read, on one line."""
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=repr).decode()
    text = text.replace("\r", "\\r").replace("\n", "\\n")
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]} ... {text[-SHOWN // 2 :]} ({len(text)} characters)"
