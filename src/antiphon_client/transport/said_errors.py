"""What an error body or an error event of the server says."""

from typing import Any, Self

import msgspec

from antiphon_client.errors import Details, StreamError
from antiphon_client.transport.ask import ResponseInfo

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises; RecursionError is msgspec's word for too deep nesting."""
MAX_BODY = 1 << 20
"""Bytes of an error body that are read."""
_MAX_SHOWN = 300
_REMEDIES = {407: "check the proxy's credentials", 429: "try again later"}
"""For answers of programs in between, which name none."""


class _Error(msgspec.Struct):
    message: Any = ""
    type: Any = ""
    code: Any = None
    param: Any = None
    remedy: Any = ""


class _Body(msgspec.Struct):
    error: _Error | str | None = None
    request_id: Any = ""


class _FlatBody(_Error):
    """As those who rank are told."""

    detail: Any = ""
    id: Any = ""


class SaidError(msgspec.Struct, frozen=True):
    """The message, without the remedy that our server puts behind it, and what else is told."""

    message: str
    remedy: str = ""
    code: str = ""
    type: str = ""
    param: str | None = None
    request_id: str = ""

    @classmethod
    def of(cls, body: bytes, info: ResponseInfo, url: str) -> Self:
        """What a response with an error status says, whoever wrote it."""
        if (said := cls.read(body) or cls._read_flat(body)) is not None:
            return said
        if 300 <= info.status < 400:
            where = info.headers.get("location", "elsewhere")[:_MAX_SHOWN]
            return cls(f"the server at {url} sends us to {where}", "give that as the base URL, if you trust it")
        text = " ".join(body.decode("utf-8", "replace").split())[:_MAX_SHOWN]
        told = f": {text}" if text and "<" not in text[:1] else ""
        remedy = _REMEDIES.get(info.status, "check the base URL" if info.status < 500 else "try again later")
        return cls(f"the server at {url} answered with status {info.status}{told}", remedy)

    @classmethod
    def read(cls, body: bytes) -> Self | None:
        """What a JSON body or event says, or None where it tells of no error."""
        try:
            read = msgspec.json.decode(body, type=_Body)
        except UNREADABLE:
            return None
        error = _Error(read.error) if isinstance(read.error, str) else read.error
        if error is None:
            return None
        return cls._made_of(error, read.request_id)

    @classmethod
    def _read_flat(cls, body: bytes) -> Self | None:
        try:
            read = msgspec.json.decode(body, type=_FlatBody)
        except UNREADABLE:
            return None
        read.message = read.message or read.detail
        return cls._made_of(read, read.id) if read.message else None

    @classmethod
    def _made_of(cls, error: _Error, request_id: Any) -> Self:
        remedy = _text(error.remedy)
        message = _text(error.message).removesuffix(f"; {remedy}") or "the server answered with an error and no words"
        param = None if error.param is None else _text(error.param)
        return cls(message, remedy, _text(error.code), _text(error.type), param, _text(request_id))

    def as_stream_error(self, data: bytes) -> StreamError:
        """The error for one that came as an event."""
        details = Details(
            remedy=self.remedy, code=self.code, type=self.type, param=self.param, request_id=self.request_id, body=data
        )
        return StreamError(self.message, details)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
