"""Reads the body of ``POST /v1/embeddings``: every field is honoured, known to be harmless, or refused by name."""

import difflib
import unicodedata
from collections.abc import Sequence
from typing import Any

import msgspec

from antiphon.core.errors import ContextOverflow, InvalidRequest, UnsupportedParameter
from antiphon.execution.compute_host.limits import ComputeLimits
from antiphon.execution.wire.not_json import not_json
from antiphon.execution.wire.wrong_values import WrongValue

_FIELDS = ("model", "input", "encoding_format", "dimensions", "user")
_FORMATS = ("float", "base64")
_PIECE = 4096
"""Characters normalised at a time, so that counting can stop early."""

_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class EmbeddingRequest(msgspec.Struct, frozen=True):
    """Texts to encode, in the order of the answer."""

    model: str
    texts: tuple[str, ...]
    base64: bool
    """Vectors as base64 of little-endian 32-bit floats, instead of JSON numbers."""
    single: bool
    """``input`` was one string."""
    characters: int
    """Of all texts together, after Unicode normalisation."""

    def place(self, index: int) -> str:
        """Path of a text in the request."""
        return "input" if self.single else f"input[{index}]"


def parse(body: bytes, dimensions: int, limits: ComputeLimits) -> EmbeddingRequest:
    """Read a request for an encoder of so many dimensions. Raises InvalidRequest, UnsupportedParameter or ContextOverflow."""
    try:
        given = _decode_fields(body)
    except msgspec.ValidationError as error:
        raise WrongValue.of(error).error() from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_json(body, error) from error
    except RecursionError:
        raise InvalidRequest("the request body is nested too deeply", remedy="send a flatter JSON object") from None
    for name in given:
        if name not in _FIELDS:
            near = difflib.get_close_matches(name[:200], _FIELDS, n=1)
            remedy = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(_FIELDS)}"
            raise InvalidRequest(f"`{name[:200]}` is not a known field", remedy=remedy, param=name[:200])
    fields = {name: _decoded(name, raw, body) for name, raw in given.items()}
    _check_dimensions(fields.get("dimensions"), dimensions)
    texts = _texts(fields.get("input"))
    characters = _characters(texts, limits)
    model, as_base64 = _model(fields.get("model")), _is_base64(fields.get("encoding_format"))
    return EmbeddingRequest(model, texts, as_base64, isinstance(fields["input"], str), characters)


def _decoded(name: str, raw: msgspec.Raw, body: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        wrong = not_json(body, error)
        wrong.param = wrong.param or name
        raise wrong from None
    except RecursionError:
        raise InvalidRequest(f"`{name}` is nested too deeply", remedy="send a flatter JSON object", param=name) from None


def _model(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    what = "missing" if value is None else "not a string" if value != "" else "empty"
    raise InvalidRequest(f"the field `model` is {what}", remedy="name a model that GET /v1/models lists", param="model")


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        raise InvalidRequest("the field `input` is missing", remedy="give a text, or a list of texts", param="input")
    if isinstance(value, str):
        return (_text(value, "input"),)
    if not isinstance(value, list):
        raise InvalidRequest(
            "`input` is neither a text nor a list of texts", remedy="give a text, or a list of texts", param="input"
        )
    if not value:
        raise InvalidRequest("`input` is an empty list", remedy="put at least one text into it", param="input")
    return tuple(_text(text, f"input[{index}]") for index, text in enumerate(value))


def _text(value: Any, place: str) -> str:
    if isinstance(value, int | list) and not isinstance(value, bool):
        raise UnsupportedParameter(
            f"`{place}` holds token numbers, which mean nothing to this encoder: it has a vocabulary of its own",
            remedy="send the text itself",
            param="input",
        )
    if not isinstance(value, str):
        raise InvalidRequest(f"`{place}` is not a text", remedy="give strings", param=place)
    if not value:
        remedy = "take it out of the list, or give it a character at least" if "[" in place else "give at least one character"
        raise InvalidRequest(f"`{place}` is empty, so it has no embedding", remedy=remedy, param=place)
    return value


def _shown(value: Any) -> str:
    """A value for a message, cut where it is long."""
    try:
        return msgspec.json.encode(value).decode()[:200]
    except (OverflowError, RecursionError):
        return "a value too large to show"


def _is_base64(value: Any) -> bool:
    if value is not None and value not in _FORMATS:
        raise InvalidRequest(
            f"`encoding_format` is {_shown(value)}",
            remedy='give "float" or "base64"',
            param="encoding_format",
        )
    return bool(value == "base64")


def _check_dimensions(value: Any, dimensions: int) -> None:
    if value is None or (value == dimensions and isinstance(value, int)):
        return
    raise UnsupportedParameter(
        f"`dimensions` cannot be {_shown(value)}: the vectors of this encoder have {dimensions}, no fewer",
        remedy=f"leave it out, or give {dimensions}",
        param="dimensions",
    )


def _characters(texts: Sequence[str], limits: ComputeLimits) -> int:
    """Characters of all texts. Raises InvalidRequest or ContextOverflow where there are too many.

    They are counted as the encoder will see them, in NFKC: one ligature may stand for eighteen letters, and a request of nothing
    else would take many times as long as its length promises.
    """
    if len(texts) > limits.max_texts:
        raise InvalidRequest(
            f"`input` holds {len(texts):,} texts; at most {limits.max_texts:,} go into one request",
            remedy="send them in several requests",
            param="input",
        )
    count = 0
    for text in texts:
        for begin in range(0, len(text), _PIECE):
            piece = text[begin : begin + _PIECE]
            count += len(piece) if piece.isascii() else len(unicodedata.normalize("NFKC", piece))
            if count > limits.max_characters:
                raise ContextOverflow(
                    f"`input` holds more than {limits.max_characters:,} characters, which is the most that goes into one request",
                    remedy="send shorter texts, or send them in several requests",
                    param="input",
                )
    return count
