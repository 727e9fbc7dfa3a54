"""What keeps conversations going: what a request continues, all of it put in its place, and what is kept of its answer.

``input`` of an expanded request holds the whole conversation, so whoever answers it need not know that there was a store.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.core.errors import NOT_KEPT, InternalError, InvalidRequest
from antiphon.execution.wire import reading
from antiphon.execution.wire.reading import NULL, UNREADABLE
from antiphon.execution.wire.responses import ids

_FINAL = re.compile(rb"event: response\.(?:completed|incomplete)\ndata: (.*)\n\n")
_OUR_ITEM = re.compile(rb"_ap[0-9a-f]{32}_")
_KINDS = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}
_COMPLETED = msgspec.Raw(b'"completed"')
_ASSISTANT = msgspec.Raw(b'"assistant"')
_NO_LIST = msgspec.Raw(b"[]")

Item = dict[str, msgspec.Raw]


class Asked(msgspec.Struct, frozen=True):
    """What of a request is about the conversation that it belongs to."""

    previous_response_id: str | None = None
    store: bool | None = None
    input: str | list[msgspec.Raw] | None = None

    @property
    def items(self) -> list[msgspec.Raw]:
        """What is new in it."""
        if isinstance(self.input, str):
            return [msgspec.Raw(reading.encode({"type": "message", "role": "user", "content": self.input}))]
        return self.input or []


class _Reference(msgspec.Struct):
    type: Any = None
    role: Any = None
    id: Any = None


class _Named(msgspec.Struct):
    id: Any = None


class _Kept(msgspec.Struct):
    id: str = ""
    output: list[msgspec.Raw] = []


class _Final(msgspec.Struct):
    type: str
    sequence_number: int
    response: msgspec.Raw


_decode_asked = msgspec.json.Decoder(Asked).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_reference = msgspec.json.Decoder(_Reference).decode
_decode_named = msgspec.json.Decoder(_Named).decode
_decode_kept = msgspec.json.Decoder(_Kept).decode
_decode_final = msgspec.json.Decoder(_Final).decode


def read_asked(body: bytes) -> Asked:
    """Raises InvalidRequest, naming the field."""
    return reading.decode_request(_decode_asked, body)


# -- what a request continues


def references(asked: Asked, body: bytes) -> dict[int, str]:
    """The items that are named and not given: place in the input, and name. Those of model servers are not among them."""
    if not isinstance(asked.input, list) or b"_ap" not in body or _OUR_ITEM.search(body) is None:
        return {}
    return {at: name for at, raw in enumerate(asked.input) if ids.response_of(name := _referred(raw))}


def _referred(raw: msgspec.Raw) -> str:
    try:
        told = _decode_reference(raw)
    except msgspec.ValidationError:  # no object: it is for the reader of the request to say so
        return ""
    is_reference = told.type == "item_reference" or (told.type is None and told.role is None)
    return told.id if is_reference and isinstance(told.id, str) else ""


def expanded(body: bytes, items: Iterable[msgspec.Raw]) -> bytes:
    """The request with these items for its input."""
    return reading.encode({**_decode_fields(body), "input": list(items)})


def resolved(asked: Asked, named: Mapping[int, str], kept: Mapping[str, msgspec.Raw]) -> list[msgspec.Raw]:
    """What is new in a request, with the kept items in place of their names. Raises InvalidRequest for one that is not kept."""
    items = list(asked.items)
    for at, name in named.items():
        if name not in kept:
            raise InvalidRequest(
                f"item with id '{name[:200]}' not found: {NOT_KEPT}",
                remedy="send the item itself",
                param=f"input[{at}].id",
            )
        items[at] = kept[name]
    return items


def by_name(items: Iterable[msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Kept items by their names."""
    return {name: raw for raw in items if isinstance(name := _decode_named(raw).id, str)}


# -- what is kept


def asked_and_answered(asked: bytes, response: bytes) -> tuple[list[msgspec.Raw], list[msgspec.Raw]]:
    """The items that were kept of what was asked and of what was answered. Raises InternalError where they cannot be read."""
    try:
        return _decode_items(asked), _decode_kept(response).output
    except UNREADABLE as error:
        raise InternalError("a response that was kept cannot be read any more", remedy="send the whole conversation") from error


def our_name(response: bytes) -> str:
    """The name of a response that was written here; empty for that of a model's server, which may look as it likes."""
    try:
        name = _decode_kept(response).id
    except UNREADABLE:
        return ""
    return name if ids.is_ours(name) else ""


def kept_input(items: Iterable[msgspec.Raw], response: str) -> bytes:
    """The list of what a response was asked, each item in full and with a name."""
    return reading.encode([_whole(raw, response, at) for at, raw in enumerate(items)])


def _whole(raw: msgspec.Raw, response: str, at: int) -> Item:
    item = _decode_fields(raw)
    kind = msgspec.json.decode(item["type"]) if item.get("type", NULL) != NULL else "message"
    whole: Item = {"type": msgspec.Raw(reading.encode(kind)), **{name: value for name, value in item.items() if value != NULL}}
    whole.setdefault("id", msgspec.Raw(reading.encode(ids.of_input(_KINDS.get(kind, "item"), response, at))))
    if kind == "message":
        whole["content"] = _parts(whole)
    if kind == "reasoning":
        whole.setdefault("summary", _NO_LIST)
    else:
        whole.setdefault("status", _COMPLETED)
    return whole


def _parts(message: Item) -> msgspec.Raw:
    """The content of a message as a list of parts."""
    content = bytes(message.get("content", _NO_LIST))
    if not content.startswith(b'"'):
        return msgspec.Raw(content)
    if message.get("role") == _ASSISTANT:
        return msgspec.Raw(b'[{"type":"output_text","annotations":[],"text":%b}]' % content)
    return msgspec.Raw(b'[{"type":"input_text","text":%b}]' % content)


class Finale(msgspec.Struct, frozen=True):
    """The last event of a streamed answer, whose response is complete."""

    before: bytes
    """What stands before it in its frame."""
    response: bytes
    number: int
    name: str

    def event(self, response: bytes) -> bytes:
        """The event, with another form of the response."""
        told = _Final(self.name, self.number, msgspec.Raw(response))
        return b"event: %b\ndata: %b\n\n" % (self.name.encode(), reading.encode(told))


def finale(frame: bytes) -> Finale | None:
    """The last event of an answer that was written here, if it is in this frame."""
    ends = b"event: response.completed" in frame or b"event: response.incomplete" in frame  # what a search would cost every event
    found = _FINAL.search(frame) if ends else None
    if found is None:
        return None
    try:
        told = _decode_final(found[1])
    except UNREADABLE:
        return None
    whole = Finale(frame[: found.start()], bytes(told.response), told.sequence_number, told.type)
    return whole if our_name(whole.response) else None


def with_store(response: bytes, *, kept: bool) -> bytes:
    """A response that says whether it is kept."""
    return (b'{"store":true,' if kept else b'{"store":false,') + response[1:]


def page(items: Sequence[msgspec.Raw], *, after: str, limit: int, latest_first: bool) -> bytes:
    """Items as a list of OpenAI's: those behind the one named ``after``. Raises InvalidRequest where there is none of that name."""
    ordered = list(reversed(items)) if latest_first else list(items)
    names = [_decode_named(raw).id for raw in ordered]
    if after and after not in names:
        raise InvalidRequest(f"there is no item with id '{after[:200]}'", remedy="give the `last_id` of a page", param="after")
    start = names.index(after) + 1 if after else 0
    shown = ordered[start : start + limit]
    return reading.encode(
        {
            "object": "list",
            "data": shown,
            "first_id": names[start] if shown else None,
            "last_id": names[start + len(shown) - 1] if shown else None,
            "has_more": start + limit < len(ordered),
        }
    )
