"""Has the compute host look at long texts, which would hold up the loop."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Headers
from antiphon.execution.wire.host_guardrails import PATH, LookFor, decode_found, encode_look_for
from antiphon.governance.guarding.rules import ALONE, Known, Rule, microseconds
from antiphon.transport.client import ClientPool

Then = Callable[[Known | None], None]
"""Is told what was found, or None where the host did not say."""
_JSON: Final = ((b"content-type", b"application/json"),)


class HostFinder:
    """Asks the compute host: over ``pool`` of what cannot be done here, over ``impatient`` of what can be, if it must."""

    def __init__(self, pool: ClientPool, impatient: ClientPool) -> None:
        self._pool = pool
        self._impatient = impatient

    def find(self, rules: Sequence[Rule], texts: Sequence[str], then: Then) -> None:
        """Have texts looked at by rules; ``then`` is called once, maybe before this returns."""
        keys = list(dict.fromkeys(rule.key for rule in rules))
        try:
            body = encode_look_for(LookFor(keys, list(texts)))
        except UnicodeEncodeError:  # half a character
            then(None)
            return
        pool = self._pool if microseconds(rules, texts) > ALONE else self._impatient
        pool.request("POST", PATH, _JSON, body, _Answer(keys, texts, then))


class _Answer:
    """Receives what was found."""

    def __init__(self, keys: Sequence[str], texts: Sequence[str], then: Then) -> None:
        self._keys = keys
        self._texts = texts
        self._then = then
        self._status = 0
        self._body: list[bytes] = []

    def head(self, status: int, headers: Headers) -> None:
        self._status = status

    def data(self, chunk: bytes) -> None:
        self._body.append(chunk)

    def complete(self) -> None:
        known: Known | None = None
        if self._status == 200:
            try:
                found = decode_found(b"".join(self._body)).found
                known = {text: dict(zip(self._keys, each, strict=True)) for text, each in zip(self._texts, found, strict=True)}
            except (msgspec.DecodeError, ValueError):
                known = None
        self._then(known)

    def broken(self, error: AntiphonError) -> None:
        self._then(None)
