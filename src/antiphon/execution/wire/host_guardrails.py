"""What workers ask the compute host about texts, and what it answers."""

from typing import Final

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.core.guardrail import Finding

PATH: Final = "/guardrails"


class LookFor(msgspec.Struct, frozen=True):
    """Look with these guardrails, by the names that both know, at each of these texts."""

    guardrails: list[str]
    texts: list[str]


class FoundTexts(msgspec.Struct, frozen=True):
    """What was found in each text, by each guardrail, in the order in which they were named."""

    found: list[list[list[Finding]]]


_look_for: Final = msgspec.json.Decoder(LookFor)
_found: Final = msgspec.json.Decoder(FoundTexts)
encode_look_for: Final = msgspec.json.Encoder().encode
encode_found: Final = msgspec.json.Encoder().encode
decode_found: Final = _found.decode


def decode_look_for(body: bytes) -> LookFor:
    """What is asked. Raises InvalidRequest."""
    try:
        return _look_for.decode(body)
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"this names no guardrails and texts: {error}", remedy="send `guardrails` and `texts`") from None
