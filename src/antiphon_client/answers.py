"""What all answers have in common: typed fields, and whatever else the server said."""

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import msgspec

from antiphon_client.errors import Details, InvalidResponseError
from antiphon_client.transport.ask import ResponseInfo
from antiphon_client.transport.said_errors import UNREADABLE

NO_RESPONSE = ResponseInfo(0, {}, "")
"""Of answers that came in none."""


class ApiObject(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An object of an answer. Fields that have no name here are in ``extra``, and a null stands for a field that is not there."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Fields that the server said beside those that are known here, as JSON values."""
        found: Mapping[str, Any] = self.__dict__.get("extra", {})
        return found

    @classmethod
    def of(cls, value: Any) -> Self:
        """Made of decoded JSON. Raises msgspec.ValidationError."""
        try:
            made = msgspec.convert(value, cls)
        except msgspec.ValidationError:
            made = msgspec.convert(_without_nulls(value), cls, strict=False)
        _keep_extra(made, value)
        return made


class Answer(ApiObject, frozen=True, kw_only=True, dict=True):
    """An answer, or an event of a streamed one."""

    @property
    def raw(self) -> bytes:
        """The JSON as it came; empty where the client put the answer together."""
        raw: bytes = self.__dict__.get("raw", b"")
        return raw

    @property
    def http(self) -> ResponseInfo:
        """Status, headers, attempts and request id of the response that it came in."""
        info: ResponseInfo = self.__dict__.get("http", NO_RESPONSE)
        return info

    @property
    def request_id(self) -> str:
        """Id under which the server's log has the call."""
        return self.http.request_id

    def came_in(self, info: ResponseInfo, raw: bytes = b"") -> Self:
        """Note the response; gives back the answer itself."""
        self.__dict__.update(http=info, raw=raw)
        return self


Kind = TypeVar("Kind", bound=Answer)


def reader(kind: type[Kind]) -> Callable[[bytes, ResponseInfo], Kind]:
    """What makes a ``kind`` of a response's body or of an event's data. It raises InvalidResponseError."""

    def read(body: bytes, info: ResponseInfo) -> Kind:
        try:
            return kind.of(msgspec.json.decode(body)).came_in(info, body)
        except UNREADABLE as error:
            raise invalid(error, body, info) from error

    return read


def invalid(error: Exception, body: bytes, info: ResponseInfo) -> InvalidResponseError:
    """The error for what cannot be read."""
    text = body[:200].decode("utf-8", "replace")
    details = Details(remedy="check the base URL: this client speaks to an Antiphon server", status=info.status, body=body)
    return InvalidResponseError(f"the server's answer is not what this API answers: {error}: {text!r}", details)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(below) for key, below in value.items() if below is not None}
    if isinstance(value, list):
        return [_without_nulls(below) for below in value]
    return value


def _keep_extra(made: Any, value: Any) -> None:
    """Walk both, and put what has no field here into ``extra``."""
    if isinstance(made, ApiObject) and isinstance(value, dict):
        names = made.__struct_encode_fields__
        extra = {key: below for key, below in value.items() if key not in names}
        if extra:
            made.__dict__["extra"] = extra
        for field, name in zip(made.__struct_fields__, names, strict=True):
            _keep_extra(getattr(made, field), value.get(name))
    elif isinstance(made, tuple) and made and isinstance(made[0], ApiObject):
        for item, below in zip(made, value, strict=True):
            _keep_extra(item, below)
