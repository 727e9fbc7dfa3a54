"""A small blocking client of OpenAI's chat API, for the command line: it starts quickly and stops when the user says so."""

import http.client
import socket
import ssl
from collections.abc import Generator, Iterator
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from antiphon.bootstrap.own_trust import untrusted
from antiphon.core.errors import (
    AntiphonError,
    ConfigError,
    ModelNotFound,
    Unauthenticated,
    UpstreamBroken,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from antiphon.transport.sse import EventSplitter, parse

PATIENCE = 10.0
"""Seconds to connect, and to wait for answers that take the server no work."""
PROBING = 2.0
"""Seconds for a look whether a server that refuses plain HTTP speaks HTTPS."""
SILENCE = 600.0
"""Seconds that the server may be silent: a long prompt on a slow machine takes its time."""

NOT_OPENAI = "give the URL of an Antiphon server, or of another that speaks OpenAI's protocol"


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation."""

    role: str
    content: str


class ChatRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked. None leaves a choice to the server."""

    model: str
    messages: tuple[Message, ...]
    stream: bool = False
    stream_options: dict[str, bool] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None


class TokenCounts(msgspec.Struct, frozen=True):
    """Tokens that an answer took."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class Piece(msgspec.Struct, frozen=True):
    """A piece of an answer as it comes: text, why it ended, its price; mostly one of them."""

    text: str = ""
    finish_reason: str = ""
    usage: TokenCounts | None = None


class ModelEntry(msgspec.Struct, frozen=True):
    """A model of the server."""

    id: str
    kind: str = "chat"


class _Models(msgspec.Struct):
    data: list[ModelEntry]


class _Text(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Text | None = None
    message: _Text | None = None
    finish_reason: str | None = None


class Failure(msgspec.Struct):
    """What a server says of a call that it does not answer."""

    message: str = ""
    code: str | int | None = None
    remedy: str = ""

    @property
    def fault(self) -> str:
        """The message without the remedy at its end."""
        return self.message.removesuffix(f"; {self.remedy}") if self.remedy else self.message


class _Answer(msgspec.Struct):
    choices: list[_Choice] = []
    usage: TokenCounts | None = None
    error: Failure | None = None


Kind = TypeVar("Kind")


def _split(url: str) -> tuple[SplitResult, int | None]:
    """The parts of a server's URL, and its port. Raises ConfigError."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme in {"http", "https"} and parts.hostname and url.isascii() and url.isprintable() and " " not in url:
            return parts, parts.port
    except ValueError:  # of a port or an address in brackets
        pass
    raise ConfigError(f'"{url}" is not the URL of a server', remedy="give one like http://127.0.0.1:8080", key="url")


class ChatClient:
    """Talks to one server. ``url`` is its root or its ``/v1``. Raises ConfigError where that is no URL."""

    def __init__(self, url: str, key: str = "", *, silence: float = SILENCE) -> None:
        parts, self._port = _split(url)
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                "the API key holds blanks, line breaks or characters that are not ASCII",
                remedy="give it as the operator wrote it",
                key="api_key",
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        assert parts.hostname is not None
        self._host = parts.hostname
        self._secure = parts.scheme == "https"
        path = parts.path.rstrip("/")
        self.base = path if path.endswith("/v1") else f"{path}/v1"
        """Path of the API's root."""
        self._key = key
        self._silence = silence

    def models(self) -> list[ModelEntry]:
        """The models of the server. Raises AntiphonError."""
        connection = self._connect()
        try:
            return self._decode(self._ask(connection, "GET", "/models", silence=PATIENCE).read(), _Models).data
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(error, PATIENCE) from error
        finally:
            connection.close()

    def first_chat_model(self) -> str:
        """The first model of the server that can be talked to. Raises ModelNotFound where there is none, and AntiphonError."""
        for model in self.models():
            if model.kind == "chat":
                return model.id
        raise ModelNotFound(f"the server at {self.url} has no model to chat with", remedy='add one with "antiphon models add"')

    def answer(self, request: ChatRequest) -> Generator[Piece]:
        """The answer, in pieces where ``request.stream`` is set. Closing the generator cancels the call. Raises AntiphonError."""
        connection = self._connect()
        try:
            body = msgspec.json.encode(request)
            response = self._ask(connection, "POST", "/chat/completions", body, silence=self._silence)
            if request.stream:
                yield from self._stream(response)
            else:
                answer = self._decode(response.read(), _Answer)
                yield from _pieces(answer)
                if not answer.choices:
                    raise self._empty()
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(error, self._silence) from error
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=PATIENCE, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._host, self._port, timeout=PATIENCE)

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None, *, silence: float
    ) -> http.client.HTTPResponse:
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {self._key}"} if self._key else {})
        try:
            connection.connect()
        except OSError as error:
            raise self._unreachable(error) from error
        connection.sock.settimeout(silence)
        connection.request(method, self.base + path, body=body, headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise self._refused(response.status, response.read(), response.headers)
        return response

    def _unreachable(self, error: OSError) -> UpstreamUnreachable:
        if distrust := untrusted(error):
            words, remedy = distrust
            return UpstreamUnreachable(f"the server at {self.url} cannot be talked to safely: {words}", remedy=remedy)
        remedy = 'start one with "antiphon serve", or name another with --url'
        return UpstreamUnreachable(f"no server answers at {self.url} ({error.strerror or error})", remedy=remedy)

    def _stream(self, response: http.client.HTTPResponse) -> Iterator[Piece]:
        splitter, chosen = EventSplitter(), False
        while chunk := response.read1(65536):
            for event in parse(splitter.feed(chunk)):
                if event.data == "[DONE]":
                    if not chosen:
                        raise self._empty()
                    return
                answer = self._decode(event.data.encode(), _Answer)
                chosen = chosen or bool(answer.choices)
                yield from _pieces(answer)
        raise UpstreamBroken(f"the server at {self.url} broke off its answer", remedy="try again; its log tells more")

    def _refused(self, status: int, body: bytes, headers: http.client.HTTPMessage) -> AntiphonError:
        request_id = headers.get("x-request-id", "")
        trail = f" (status {status}{f', request {request_id}' if request_id else ''})"
        try:
            failure = msgspec.json.decode(body, type=_Answer).error
        except msgspec.MsgspecError:
            failure = None
        if status == 400 and b"https" in body.lower() and not self._secure and self._speaks_tls():
            remedy = f"write its URL with https: {self.url.replace('http', 'https', 1)}"
            return UpstreamBroken(f"the server at {self.url} speaks HTTPS, and was asked in plain HTTP", remedy=remedy)
        if failure is None:
            return UpstreamBroken(f"what answers at {self.url} does not speak OpenAI's protocol{trail}", remedy=NOT_OPENAI)
        if status == 401:
            return Unauthenticated(failure.fault + trail, remedy="set ANTIPHON_API_KEY, or give --api-key")
        where = f" under the request {request_id}" if request_id else ""
        error = AntiphonError(failure.fault + trail, remedy=failure.remedy or f"the server's log may have more{where}")
        error.code = str(failure.code or error.code)
        return error

    def _speaks_tls(self) -> bool:
        address = (self._host, self._port or http.client.HTTP_PORT)
        try:
            with (
                socket.create_connection(address, PROBING) as plain,
                ssl.create_default_context().wrap_socket(plain, server_hostname=self._host),
            ):
                return True
        except ssl.SSLCertVerificationError:
            return True
        except OSError:
            return False

    def _decode(self, body: bytes, kind: type[Kind]) -> Kind:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UpstreamBroken(f"what answers at {self.url} does not speak OpenAI's protocol", remedy=NOT_OPENAI) from error

    def _empty(self) -> AntiphonError:
        return UpstreamBroken(f"the answer of the server at {self.url} holds no choice", remedy="try again; its log tells more")

    def _broken(self, error: OSError | http.client.HTTPException, silence: float) -> AntiphonError:
        if isinstance(error, TimeoutError):
            remedy = f'see whether it is stopped or busy: "antiphon doctor --url {self.url}"'
            return UpstreamTimeout(f"the server at {self.url} was silent for {silence:g} s", remedy=remedy)
        if isinstance(error, http.client.RemoteDisconnected) and not self._secure:
            remedy = "if it speaks HTTPS, write its URL with https; else its log tells more"
            return UpstreamBroken(f"the server at {self.url} closed the connection before it answered", remedy=remedy)
        return UpstreamBroken(f"the server at {self.url} broke off its answer", remedy="try again; its log tells more")


def _pieces(answer: _Answer) -> Iterator[Piece]:
    if answer.error is not None:
        remedy = answer.error.remedy or "try again; the server's log tells more"
        raise UpstreamBroken(answer.error.fault or "the answer failed", remedy=remedy)
    for choice in answer.choices[:1]:
        text = choice.delta or choice.message or _Text()
        if text.content or choice.finish_reason:
            yield Piece(text.content or "", choice.finish_reason or "")
    if answer.usage is not None:
        yield Piece(usage=answer.usage)
