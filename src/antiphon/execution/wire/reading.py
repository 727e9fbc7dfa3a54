"""How JSON is read, whatever its dialect: what may go wrong, and what the caller is told of it."""

import re
from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.execution.wire.not_json import make_sure_of_utf8, not_json
from antiphon.execution.wire.wrong_values import Decoded, WrongValue

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for what is not the JSON that was expected; RecursionError is msgspec's word for too deep nesting."""

NULL: Final = msgspec.Raw(b"null")
"""What stands for a value that is passed on unread, where there is none."""
Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""A number of tokens; what a server counts outside of this is no count."""

NAME_A_MODEL: Final = "name a model that GET /v1/models lists"
"""What to do about a model's name that is missing or wrong."""

MAX_VALUES: Final = 150_000
"""Texts, names of fields, lists and objects that a request may have: each costs time. 30,000 messages are no more than that."""

_STRING: Final = re.compile(rb'"[^"]*+"?')

encode = msgspec.json.Encoder().encode


def check_size(body: bytes) -> None:
    """Raises InvalidRequest for a request of more than ``MAX_VALUES``. What is in a text does not count, however long it is."""
    if len(body) < 3 * MAX_VALUES:
        return
    values = _times(b'"', body) // 2
    if values <= MAX_VALUES and values + _times(b"{", body) + _times(b"[", body) <= MAX_VALUES:
        return
    plain = body
    if b"\\" in body:
        plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # no quote is left but those around texts
        values = _times(b'"', plain) // 2
    if values <= MAX_VALUES:
        outside = _STRING.sub(b"", plain)
        values += _times(b"{", outside) + _times(b"[", outside)
    if values > MAX_VALUES:
        raise InvalidRequest(
            f"the request body has more than {MAX_VALUES} texts, names, lists and objects",
            remedy="send fewer messages, parts, tools or fields in one request",
        )


def _times(mark: bytes, body: bytes) -> int:
    """How often a mark is in a body, as far as it matters. Leaps from one to the next: one long text costs nothing."""
    found, at = 0, body.find(mark)
    while at >= 0 and found <= 2 * MAX_VALUES + 2:
        found += 1
        at = body.find(mark, at + 1)
    return found


def decode_request(decode: Callable[[bytes], Decoded], body: bytes) -> Decoded:
    """What ``decode`` makes of a request's body, all of which is read. Raises InvalidRequest, naming the field where that is known.

    Values that are taken over unread (``msgspec.Raw``) are UTF-8 then, and can be decoded later without a fault of that kind.
    """
    if not body.isascii():
        make_sure_of_utf8(body)
    return decode_head(decode, body)


def decode_head(decode: Callable[[bytes], Decoded], body: bytes) -> Decoded:
    """The same of a body that goes on as it came, and of which no more is read than ``decode`` does."""
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise _invalid_field(error) from error
    except RecursionError as error:
        raise InvalidRequest("the request body is nested too deeply", remedy="send at most some hundred levels") from error
    except UNREADABLE as error:
        raise not_json(body, error) from error


def decode_answer(decode: Callable[[bytes], Decoded], body: bytes, endpoint: str) -> Decoded:
    """What ``decode`` makes of a server's answer. Raises UpstreamBroken, which says that it is none of ``endpoint``."""
    try:
        return decode(body)
    except UNREADABLE as error:
        raise UpstreamBroken(f"the model's server sent what is no answer of {endpoint}: {error}") from error


def _invalid_field(error: msgspec.ValidationError) -> InvalidRequest:
    wrong = WrongValue.of(error)
    if wrong.missing == "model" and not wrong.place:
        return model_missing()
    return wrong.error()


def model_missing() -> InvalidRequest:
    """The error for a request that names no model."""
    return InvalidRequest("the field `model` is missing", param="model", remedy=NAME_A_MODEL)
