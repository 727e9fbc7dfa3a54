"""Requests that are forms (RFC 7578), since they carry files: read no further than a gateway must, and never copied for that.

The parts are found by their places in the body, so a file of any size is passed over, and the model's name is exchanged in place.
"""

import logging
from typing import Final

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire.openai.passthrough import address_refused, check_model
from antiphon.execution.wire.reading import NAME_A_MODEL, model_missing

MAX_PARTS: Final = 512
"""Parts of a form: each costs time, and no call needs so many."""
MAX_VALUE: Final = 1024
"""Bytes of a value that is looked into."""
_LOOKED_INTO: Final = frozenset((b"model", b"stream", b"api_base", b"base_url"))
_TEXTS: Final = frozenset((b"prompt", b"instructions", b"input"))
MAX_TEXT: Final = 256 << 10
"""Bytes of a text for the model."""
_TRUE: Final = frozenset((b"true", b"1", b"yes", b"on"))
_REMEDY: Final = "send multipart/form-data, as OpenAI's clients do"

_silent = logging.getLogger(f"{__name__}.parser")  # what a caller sends wrong is told to the caller alone
_silent.disabled = True


class Form(msgspec.Struct, frozen=True):
    """What routing needs of a form."""

    model: str
    begin: int
    """Where the model's name begins in the body."""
    end: int
    """The place behind it."""
    stream: bool


def is_form(content_type: bytes) -> bool:
    """Whether a body of this type is a form."""
    return content_type.partition(b";")[0].strip().lower() == b"multipart/form-data"


def read_form(body: bytes, content_type: bytes) -> Form:
    """Raises InvalidRequest, naming the field at fault."""
    fields = _Fields(body)
    fields.read(content_type)
    for name in (b"api_base", b"base_url"):
        if name in fields.places:
            raise address_refused(name.decode())
    if b"model" not in fields.places:
        raise model_missing()
    begin, end = fields.places[b"model"]
    try:
        model = body[begin:end].decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("the field `model` is not UTF-8", remedy=NAME_A_MODEL, param="model") from error
    check_model(model)
    stream = fields.places.get(b"stream")
    return Form(model, begin, end, stream is not None and body[slice(*stream)].strip().lower() in _TRUE)


def texts_of(body: bytes, content_type: bytes) -> list[str]:
    """What a form says to the model in words. Raises InvalidRequest, naming the field at fault."""
    fields = _Fields(body, _TEXTS, MAX_TEXT)
    fields.read(content_type)
    return [body[begin:end].decode("utf-8", "replace") for begin, end in fields.places.values()]


def with_model(body: bytes, place: tuple[int, int], wanted: str) -> bytes:
    """``body`` with the model's name, which stands at ``place``, exchanged; all other bytes stay as they are."""
    whole = memoryview(body)
    return b"".join((whole[: place[0]], wanted.encode(), whole[place[1] :]))


class _Fields:
    """Notes where the values stand that are looked into."""

    def __init__(self, body: bytes, wanted: frozenset[bytes] = _LOOKED_INTO, longest: int = MAX_VALUE) -> None:
        self._wanted = wanted
        self._longest = longest
        self.places: dict[bytes, tuple[int, int]] = {}
        self.complete = False
        self._body = body
        self._parts = 0
        self._header = b""
        self._disposition = b""
        self._name = b""
        self._place = (0, 0)

    def read(self, content_type: bytes) -> None:
        """Raises InvalidRequest for what is no whole form."""
        try:
            boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
            if not boundary:
                raise InvalidRequest("the content-type has no boundary", remedy=_REMEDY)
            self._parse(boundary)
        except FormParserError as error:
            raise InvalidRequest(f"the request body is not a form: {error}", remedy=_REMEDY) from error
        if not self.complete:
            raise InvalidRequest("the request body is a form without an end", remedy="send it whole")

    def _parse(self, boundary: bytes) -> None:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._field,
                "on_header_value": self._value,
                "on_headers_finished": self._headers,
                "on_part_data": self._data,
                "on_part_end": self._end,
                "on_end": self._finish,
            },
        )
        parser.logger = _silent
        parser.write(self._body)

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise InvalidRequest(f"the form has more than {MAX_PARTS} parts", remedy="send fewer")
        self._header = self._disposition = self._name = b""
        self._place = (0, 0)

    def _field(self, data: bytes, start: int, end: int) -> None:
        self._header = data[start:end].lower()

    def _value(self, data: bytes, start: int, end: int) -> None:
        if self._header == b"content-disposition":
            self._disposition = data[start:end]

    def _headers(self) -> None:
        options = parse_options_header(self._disposition)[1]
        name = options.get(b"name", b"")
        if name in self._wanted and (b"filename" not in options or self._wanted is _TEXTS):
            self._name = name

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._place = (start, end)

    def _end(self) -> None:
        if not self._name:
            return
        name = self._name.decode()
        if self._name in self.places:
            raise InvalidRequest(f"the field `{name}` stands there twice", remedy="leave one of them out", param=name)
        if self._place[1] - self._place[0] > self._longest:
            raise InvalidRequest(f"the field `{name}` is longer than {self._longest} bytes", remedy="shorten it", param=name)
        self.places[self._name] = self._place

    def _finish(self) -> None:
        self.complete = True
