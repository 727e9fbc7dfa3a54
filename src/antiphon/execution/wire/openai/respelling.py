"""A chat request of OpenAI's dialect as a vendor's server spells it: what has an exact equal there is put in its words.

All else keeps its bytes, and a body in which nothing is to be put otherwise is not read at all.
"""

import hashlib
import re
import string
from typing import Final

import msgspec

from antiphon.execution.wire.reading import NULL, decode_request, encode

_ALPHABET: Final = string.digits + string.ascii_letters
_DEVELOPER: Final = msgspec.Raw(b'"developer"')
_SYSTEM: Final = msgspec.Raw(b'"system"')
_SHORT: Final = 9
_SHORT_ID: Final = re.compile(r"[0-9a-zA-Z]{9}")

_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


class Spelling(msgspec.Struct, frozen=True):
    """In what a vendor's words differ from OpenAI's."""

    renamed: dict[str, str] = {}
    """Fields of the request by their names at OpenAI, with those that the vendor has for them."""
    needless: tuple[str, ...] = ()
    """Fields that ask for what the vendor does unasked, and refuses to be asked for; they are left out."""
    developer: bool = True
    """Messages may be of role ``developer``; otherwise they are of role ``system``, which is the same under its older name."""
    short_ids: bool = False
    """Calls of tools have ids of nine letters and digits, and no others are taken back (Mistral)."""


class Respeller:
    """Puts requests into a vendor's spelling."""

    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling
        self._names = tuple(b'"%b"' % name.encode() for name in (*spelling.renamed, *spelling.needless))

    def respelled(self, body: bytes) -> bytes:
        """The body of a chat request in the vendor's words. Raises InvalidRequest where it is no JSON object."""
        spelling = self._spelling
        renames = any(name in body for name in self._names)
        in_messages = (not spelling.developer and b'"developer"' in body) or (spelling.short_ids and b'"tool_call' in body)
        if not renames and not in_messages:
            return body
        given = decode_request(_decode_fields, body)
        fields = {self._named(name, given): raw for name, raw in given.items() if name not in spelling.needless}
        if in_messages and "messages" in fields:
            fields["messages"] = self._messages(fields["messages"])
        return body if fields == given else encode(fields)

    def _named(self, name: str, given: dict[str, msgspec.Raw]) -> str:
        """The vendor's name for a field; what was given under that name too stays as it is, for the server to judge."""
        new = self._spelling.renamed.get(name, name)
        return name if new in given else new

    def _messages(self, raw: msgspec.Raw) -> msgspec.Raw:
        try:
            given = _decode_list(raw)
            messages = [self._message(message) for message in given]
        except msgspec.ValidationError:
            return raw  # not what messages are made of: the server says so
        return raw if messages == given else msgspec.Raw(encode(messages))

    def _message(self, raw: msgspec.Raw) -> msgspec.Raw:
        fields = _decode_fields(raw)
        new: dict[str, msgspec.Raw] = {}
        if not self._spelling.developer and fields.get("role") == _DEVELOPER:
            new["role"] = _SYSTEM
        if self._spelling.short_ids:
            if "tool_call_id" in fields:
                new["tool_call_id"] = _shortened(fields["tool_call_id"])
            if fields.get("tool_calls", NULL) != NULL:
                new["tool_calls"] = msgspec.Raw(encode([_call(call) for call in _decode_list(fields["tool_calls"])]))
        return msgspec.Raw(encode(fields | new)) if new else raw


def _call(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    fields = _decode_fields(raw)
    return {**fields, "id": _shortened(fields["id"])} if "id" in fields else fields


def _shortened(raw: msgspec.Raw) -> msgspec.Raw:
    return msgspec.Raw(encode(short_id(_decode_text(raw))))


def short_id(call: str) -> str:
    """Nine letters and digits for a call's id, always the same for the same id."""
    if _SHORT_ID.fullmatch(call):
        return call
    number = int.from_bytes(hashlib.sha256(call.encode()).digest())
    letters: list[str] = []
    for _ in range(_SHORT):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)
