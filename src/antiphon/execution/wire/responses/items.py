"""The items of a conversation as the Responses API has them, read into messages of the form that belongs to no vendor.

Items are flat: a thought, the words behind it and the calls that follow are one each. Those that a model answered together become
one message again, so that servers which know messages see each call of a tool in the message that made it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.data_url import read_data_url
from antiphon.execution.wire.openai.request_reader import DIALECT as OPENAI
from antiphon.execution.wire.responses import thoughts
from antiphon.execution.wire.signatures import at_calls
from antiphon.execution.wire.wrong_values import decode_at, is_object, missing, one_of

_KNOWN = "message, function_call, function_call_output, reasoning"
_PARTS = "input_text, input_image, input_file, input_audio, output_text, refusal"
_FIELDS = {"input_image": "image_url", "input_file": "file_data", "input_audio": "input_audio", "refusal": "refusal"}
"""The field that a part of each type must have; all others have ``text``."""


class _Breakpoint(msgspec.Struct):
    ttl: str | None = None


class _Sound(msgspec.Struct):
    data: str
    format: str


class _Part(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None
    detail: str | None = None
    file_id: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None
    input_audio: _Sound | None = None
    prompt_cache_breakpoint: _Breakpoint | None = None


class _Kind(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    id: str | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part]


class _Call(msgspec.Struct):
    call_id: str
    name: str
    arguments: str
    namespace: Any = None


class _Output(msgspec.Struct):
    call_id: str
    output: str | list[_Part]


class _Thought(msgspec.Struct):
    summary: list[_Part] | None = None
    content: list[_Part] | None = None
    encrypted_content: str | None = None


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_call = msgspec.json.Decoder(_Call).decode
_decode_output = msgspec.json.Decoder(_Output).decode
_decode_thought = msgspec.json.Decoder(_Thought).decode


def read_items(items: Sequence[msgspec.Raw]) -> list[chat.Message]:
    """The messages that the items of ``input`` make up. Raises InvalidRequest, naming the item and its field."""
    messages: list[chat.Message] = []
    answered = _Answered()
    for at, raw in enumerate(items):
        place = f"input[{at}]"
        kind, parts = _of_answer(raw, place)
        if parts is None or answered.ends_before(kind):
            messages += answered.messages()
            answered = _Answered()
        if parts is None:
            messages.append(_other(raw, kind, place))
        else:
            answered.add(kind, parts, place)
    return [*messages, *answered.messages()]


class _Answered:
    """What a model answered in one go, as far as it was read."""

    def __init__(self) -> None:
        self._parts: list[chat.Part] = []
        self._place = ""
        self._said = self._called = False

    def ends_before(self, kind: str) -> bool:
        """Whether what comes now belongs to the next answer. Calls hold one open, because their results must follow them."""
        return kind != "function_call" and self._said and not self._called

    def add(self, kind: str, parts: list[chat.Part], place: str) -> None:
        self._parts += parts
        self._place = self._place or place
        self._said = self._said or kind == "message"
        self._called = self._called or kind == "function_call"

    def messages(self) -> list[chat.Message]:
        """The message, unless there was nothing but a thought that cannot be read."""
        whole = chat.Message("assistant", at_calls(self._parts), place=self._place)
        return [whole] if self._parts or self._said else []


def _of_answer(raw: msgspec.Raw, place: str) -> tuple[str, list[chat.Part] | None]:
    """The kind of an item, and the parts that it has of an earlier answer; None for one that is no part of any."""
    kind = decode_at(_decode_kind, raw, place)
    match kind:
        case _Kind(type="message" | None, role="assistant"):
            content = decode_at(_decode_message, raw, place).content
            return "message", list(_content(content, f"{place}.content"))
        case _Kind(type="function_call"):
            return "function_call", [_call(decode_at(_decode_call, raw, place), place)]
        case _Kind(type="reasoning"):
            return "reasoning", list(_thought(decode_at(_decode_thought, raw, place)))
        case _Kind(type=None, role=None):
            return "item_reference" if kind.id is not None else "", None
    return kind.type or "message", None


def _other(raw: msgspec.Raw, kind: str, place: str) -> chat.Message:
    match kind:
        case "message":
            return _message(decode_at(_decode_message, raw, place), place)
        case "function_call_output":
            output = decode_at(_decode_output, raw, place)
            return chat.Message("tool", (chat.ToolResult(output.call_id, _results(output.output, f"{place}.output")),), place=place)
        case "item_reference":
            raise InvalidRequest(
                f"`{place}` refers to an item that is not kept here", remedy="send the item itself", param=f"{place}.id"
            )
        case "":
            raise missing(f"{place}.type")
    reason = f"this model's server has nothing like an item of type {kind[:200]}"
    raise chat.unsupported(f"{place}.type", reason, f"leave the item out; known: {_KNOWN}")


def _message(read: _Message, place: str) -> chat.Message:
    match read.role:
        case "user":
            return chat.Message("user", tuple(_content(read.content, f"{place}.content")), place=place)
        case "system" | "developer":
            parts = tuple(_content(read.content, f"{place}.content"))
            if not all(isinstance(part, chat.Text) for part in parts):
                path = f"{place}.content"
                raise InvalidRequest(
                    f"`{path}` of role {read.role} is not text alone", remedy="give parts of type input_text", param=path
                )
            return chat.Message(read.role, parts, place=place)
    raise one_of(f"{place}.role", read.role, "user, assistant, system, developer")


def _call(read: _Call, place: str) -> chat.ToolCall:
    if read.namespace is not None:
        raise chat.unsupported(f"{place}.namespace", "this model's server has no namespaces of tools")
    arguments = read.arguments or "{}"
    if not is_object(arguments):
        path = f"{place}.arguments"
        raise InvalidRequest(
            f"`{path}` is not the JSON text of an object", remedy="send the arguments as they were answered", param=path
        )
    return chat.ToolCall(read.call_id, read.name, arguments)


def _thought(read: _Thought) -> Iterator[chat.Thinking | chat.RedactedThinking]:
    """A thought; one that another vendor has encrypted is of use to nobody here, and only its words are read."""
    kept = thoughts.unpack(read.encrypted_content or "")
    if kept is not None:
        yield kept
        return
    for part in read.content or read.summary or ():
        if part.text:
            yield chat.Thinking(part.text)


def _results(read: str | list[_Part], path: str) -> tuple[chat.ResultPart, ...]:
    parts: list[chat.ResultPart] = []
    for at, part in enumerate(_content(read, path)):
        if not isinstance(part, chat.ResultPart):
            where = f"{path}[{at}]"
            raise InvalidRequest(f"`{where}` is not what a tool can give back", remedy="give parts of type input_text", param=where)
        parts.append(part)
    return tuple(parts)


def _content(read: str | list[_Part], path: str) -> Iterable[chat.Part]:
    if isinstance(read, str):
        return [chat.Text(read)] if read else []
    return [_part(part, f"{path}[{at}]") for at, part in enumerate(read)]


def _part(read: _Part, path: str) -> chat.Part:
    cache = _lifetime(read.prompt_cache_breakpoint)
    match read:
        case _Part(type="input_text" | "output_text", text=str() as text):
            return chat.Text(text, cache)
        case _Part(type="refusal", refusal=str() as text):
            return chat.Refusal(text)
        case _Part(type="input_audio", input_audio=_Sound() as sound):
            return chat.Audio(sound.data, sound.format)
        case _Part(type="input_image", image_url=str() as url):
            kind, data = read_data_url(url)
            return chat.Image("" if data else url, data, kind, read.detail or "", cache)
        case _Part(type="input_file") if read.file_data or read.file_url or read.file_id:
            return _file(read, path, cache)
        case _Part(type="input_image", file_id=str()):
            raise chat.unsupported(f"{path}.file_id", "files are not kept here", "give `image_url`, which may be a data URL")
    if read.type not in _PARTS.split(", "):
        raise one_of(f"{path}.type", read.type, _PARTS)
    raise missing(f"{path}.{_FIELDS.get(read.type, 'text')}")


def _file(read: _Part, path: str, cache: str) -> chat.Part:
    if read.detail not in (None, "auto"):
        raise chat.unsupported(f"{path}.detail", "how pages are rendered cannot be chosen for this model")
    if read.file_data:
        kind, data = read_data_url(read.file_data)
        if not data:
            raise InvalidRequest(
                f"`{path}.file_data` is not a data URL", remedy="give data:application/pdf;base64,...", param=f"{path}.file_data"
            )
        return chat.Document(data=data, media_type=kind, title=read.filename or "", cache=cache)
    if read.file_url:
        return chat.Document(url=read.file_url, title=read.filename or "", cache=cache)
    told = {"type": "file", "file": {"file_id": read.file_id}}
    return chat.Foreign(OPENAI, "file", msgspec.Raw(reading.encode(told)))


def _lifetime(mark: _Breakpoint | None) -> str:
    if mark is None:
        return ""
    return "1h" if mark.ttl == "12h" else "5m"
