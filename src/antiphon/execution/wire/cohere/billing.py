"""What Cohere's answers tell of what was used, in their field ``meta``."""

import msgspec

from antiphon.core.types import Usage


class _Tokens(msgspec.Struct):
    input_tokens: float | None = None
    output_tokens: float | None = None


class _Billed(msgspec.Struct):
    input_tokens: float | None = None
    search_units: float | None = None


class Meta(msgspec.Struct):
    """Each count is a whole number, written as a number of any kind."""

    tokens: _Tokens | None = None
    billed_units: _Billed | None = None


_decode = msgspec.json.Decoder(Meta | None).decode
_MOST = 2.0**53


def meta_of(raw: msgspec.Raw) -> Meta:
    """The field, read as far as it can be: what is no count is not told on."""
    try:
        return _decode(raw) or Meta()
    except msgspec.ValidationError:
        return Meta()


def usage_of(meta: Meta) -> Usage | None:
    """Tokens read and written, or else those that are billed; None where none are told."""
    tokens, billed = meta.tokens or _Tokens(), meta.billed_units or _Billed()
    read = tokens.input_tokens if tokens.input_tokens is not None else billed.input_tokens
    if read is None:
        return None
    prompt, completion = count(read), count(tokens.output_tokens)
    return Usage(prompt, completion, prompt + completion)


def count(told: float | None) -> int:
    """A count as a whole number; 0 for what is none."""
    return int(told) if told is not None and 0 <= told < _MOST else 0
