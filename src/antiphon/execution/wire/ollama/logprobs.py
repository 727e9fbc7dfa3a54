"""Log-probabilities: a list of tokens in Ollama's answers, the same tokens below ``content`` in OpenAI's."""

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import reading


class _Token(msgspec.Struct, omit_defaults=True):
    token: str
    logprob: float
    bytes: list[int] | None = None


class _Position(_Token, omit_defaults=True):
    top_logprobs: list[_Token] | None = None


class _OpenAIToken(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int] | None


class _OpenAIPosition(_OpenAIToken):
    top_logprobs: list[_OpenAIToken]


class _OpenAI(msgspec.Struct):
    content: list[_Position] | None = None
    refusal: list[_Position] | None = None


_decode = msgspec.json.Decoder(list[_Position] | None).decode
_decode_openai = msgspec.json.Decoder(_OpenAI | None).decode


def to_openai(raw: msgspec.Raw) -> msgspec.Raw | None:
    """What Ollama's list says, in OpenAI's shape; None where it says nothing. Raises UpstreamBroken where it is no such list."""
    try:
        positions = _decode(raw)
    except reading.UNREADABLE as error:
        raise UpstreamBroken(f"the model's server sent log-probabilities that are none: {error}") from error
    if not positions:
        return None
    content = [
        _OpenAIPosition(told.token, told.logprob, told.bytes, [_openai(token) for token in told.top_logprobs or ()])
        for told in positions
    ]
    return msgspec.Raw(reading.encode({"content": content, "refusal": None}))


def _openai(token: _Token) -> _OpenAIToken:
    return _OpenAIToken(token.token, token.logprob, token.bytes)


def from_openai(raw: msgspec.Raw) -> list[_Position]:
    """What OpenAI's object says, as Ollama's list. Raises UpstreamBroken where it is no such object."""
    try:
        told = _decode_openai(raw) or _OpenAI()
    except reading.UNREADABLE as error:
        raise UpstreamBroken(f"the model's server sent log-probabilities that are none: {error}") from error
    return [*(told.content or ()), *(told.refusal or ())]
