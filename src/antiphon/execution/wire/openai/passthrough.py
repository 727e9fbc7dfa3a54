"""OpenAI's dialect, read no further than a gateway must: which model, streamed or not, what was used, where the text begins."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET

from antiphon.core.errors import InvalidRequest, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.openai.fields import Answer, Choice, Chunk, OddAnswer, RequestHead, UsageFields
from antiphon.execution.wire.reading import NAME_A_MODEL, UNREADABLE, check_size, decode_head, encode
from antiphon.transport import sse

DONE: Final = b"data: [DONE]\n\n"
_decode_head = msgspec.json.Decoder(RequestHead).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MODEL: Final = re.compile(rb'"model"\s*:\s*')


def parse_head(body: bytes) -> RequestHead:
    """Read a request's routing fields. Raises InvalidRequest naming the field at fault."""
    check_size(body)
    head = decode_head(_decode_head, body)
    if head.api_base is not UNSET or head.base_url is not UNSET:
        raise address_refused("api_base" if head.api_base is not UNSET else "base_url")
    check_model(head.model)
    return head


def address_refused(name: str) -> InvalidRequest:
    """The error for a field that names the address of a model's server."""
    return InvalidRequest(
        f"`{name}` is not taken: callers do not choose the address of a model's server",
        param=name,
        remedy="leave it out; the operator adds providers to the configuration",
    )


def check_model(name: str) -> None:
    """Raises InvalidRequest for the name of no model."""
    if not name:
        raise InvalidRequest("the field `model` is empty", param="model", remedy=NAME_A_MODEL)


def with_model(body: bytes, asked: str, wanted: str) -> bytes:
    """``body`` with the model's name exchanged; all other bytes stay as they are wherever that can be done safely."""
    first = _MODEL.search(body)
    escaped = b"\\u00" in body  # a name may be hidden behind escapes of plain letters
    if first is not None and not escaped and body.find(b'"model"', first.end()) < 0:
        old = encode(asked)
        if body.startswith(old, first.end()):
            return b"".join((body[: first.end()], encode(wanted), body[first.end() + len(old) :]))
    fields = decode_head(_decode_fields, body)
    fields["model"] = msgspec.Raw(encode(wanted))
    return encode(fields)


def fields_of(body: bytes) -> dict[str, msgspec.Raw]:
    """The fields of a request, each as it was written. Raises InvalidRequest where it is no JSON object."""
    return decode_head(_decode_fields, body)


def without_field(body: bytes, name: str) -> bytes:
    """``body`` without a field, and written anew."""
    fields = fields_of(body)
    fields.pop(name, None)
    return encode(fields)


def with_usage(body: bytes) -> bytes:
    """``body`` asking for the usage chunk of a stream."""
    if b'"stream_options"' not in body:
        start = body.index(b"{") + 1
        return b"".join((body[:start], b'"stream_options":{"include_usage":true},', body[start:]))
    fields = decode_head(_decode_fields, body)
    options = msgspec.json.decode(fields.get("stream_options", msgspec.Raw(b"null"))) or {}
    options["include_usage"] = True
    fields["stream_options"] = msgspec.Raw(encode(options))
    return encode(fields)


# -- answers


_decode_answer = msgspec.json.Decoder(Answer).decode
_decode_odd_answer = msgspec.json.Decoder(OddAnswer).decode
_decode_chunk = msgspec.json.Decoder(Chunk).decode


def usage_from(found: UsageFields | None) -> Usage | None:
    """What was used, from the fields that tell it."""
    if found is None:
        return None
    prompt, completion = found.prompt_tokens or 0, found.completion_tokens or 0
    prompt_details, completion_details = found.prompt_tokens_details, found.completion_tokens_details
    return Usage(
        prompt,
        completion,
        found.total_tokens or prompt + completion,
        (prompt_details and prompt_details.cached_tokens) or found.prompt_cache_hit_tokens or found.cached_tokens or 0,
        (completion_details.reasoning_tokens or 0) if completion_details else 0,
    )


def read_answer(body: bytes) -> tuple[Usage | None, Any]:
    """Usage and error of an answer that was not streamed, each None where it tells none. Raises one of ``UNREADABLE``."""
    try:
        answer = _decode_answer(body)
    except msgspec.ValidationError:
        return None, _decode_odd_answer(body).error
    return usage_from(answer.usage), answer.error


def each_chunk(raw: bytes) -> Iterator[Chunk | None]:
    """The events of a frame one by one, None for those that are not JSON objects (``[DONE]`` is left out)."""
    for event in sse.split(raw):
        if b"data" not in event:
            continue  # comments and empty lines, of which a server may send any number
        plain = event.startswith(b"data: ") and event.find(b"\n") == len(event) - 2 and event[-1] == 0x0A
        for data in (event[6:-2],) if plain else [parsed.data.encode() for parsed in sse.parse(event)]:
            if data == b"[DONE]":
                continue
            yield _read_chunk(data)


def _read_chunk(data: bytes) -> Chunk | None:
    try:
        return _decode_chunk(data)
    except UNREADABLE:
        return None


def chunks(raw: bytes) -> list[Chunk | None]:
    """All events of a frame, as ``each_chunk`` gives them."""
    return list(each_chunk(raw))


def begins(raw: bytes) -> bool:
    """Whether a reader would see something of this frame. Looks no further than the first event with content."""
    return b"data" in raw and any(has_content(chunk) for chunk in each_chunk(raw))


def finished(choice: Choice) -> bool:
    """Whether a piece of a choice is its last: some imitators put the text "null" where there is no reason for the end yet."""
    return bool(choice.finish_reason) and choice.finish_reason != "null"


def has_content(chunk: Chunk | None) -> bool:
    """Whether a reader would see something of this event. What cannot be read counts as content."""
    if chunk is None:
        return True
    for choice in chunk.choices:
        delta = choice.delta
        if finished(choice) or choice.text:
            return True
        if delta is not None and (
            delta.content
            or delta.tool_calls
            or delta.function_call
            or delta.refusal
            or delta.reasoning
            or delta.reasoning_content
            or delta.audio
        ):
            return True
    return False


def up_to_done(raw: bytes) -> bytes | None:
    """A frame up to and with its ``[DONE]`` event, None where it has none; the same words inside a text do not count."""
    length = sse.beginning(raw, raw.find(b"[DONE]"))
    for event in sse.split(raw[length:]):
        length += len(event)
        if b"[DONE]" in event and any(parsed.data.strip() == "[DONE]" for parsed in sse.parse(event)):
            return raw[:length]
    return None


def told_error(error: Any, body: bytes) -> UpstreamRefused:
    """The error that a server told under a status of success, with the status it names itself, 502 where it names none."""
    code = error.get("code") if isinstance(error, dict) else None
    return UpstreamRefused(code if isinstance(code, int) and 400 <= code < 600 else 502, body)


def read_passed(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of an answer in one piece that goes on as it came. Raises one of ``UNREADABLE``."""
    usage, error = read_answer(body)
    return usage, told_error(error, body) if error else None
