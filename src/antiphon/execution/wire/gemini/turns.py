"""The turns of a conversation as Gemini takes them.

Results of tools stand in a turn of their own, in the order of the calls, each with the name of what was called. What a result has
beside words follows as if the user showed it, because only the newest models take it inside.
"""

from posixpath import splitext
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.gemini.names import DIALECT
from antiphon.execution.wire.signatures import unmarked

NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""What stands for the signature of a call that another vendor's model made, or whose caller lost it.

Newer models refuse a turn whose first call has none (Google's documentation, "Thought signatures", its questions and answers)."""
_MEDIA_TYPES = {
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".webp": "image/webp",
}
"""What the end of an address tells of what is there; the API needs no type, but then it has to find out."""


class Turns(msgspec.Struct, frozen=True):
    """A conversation."""

    system: list[dict[str, Any]]
    """Parts of the system instruction."""
    contents: list[dict[str, Any]]


def turns_of(request: ChatRequest, abilities: ChatAbilities) -> Turns:
    """The turns of a request. Raises InvalidRequest or UnsupportedParameter, naming the message."""
    writer = _Writer(request, abilities)
    for message in request.messages:
        writer.add(message)
    return writer.end()


class _Writer:
    """Puts messages into turns."""

    def __init__(self, request: ChatRequest, abilities: ChatAbilities) -> None:
        self._request = request
        self._abilities = abilities
        self._system: list[dict[str, Any]] = []
        self._contents: list[dict[str, Any]] = []
        self._open = ""
        """Role of the last turn, where more may be put into it."""
        self._calls: dict[str, tuple[int, str]] = {}
        """Number and name of each call so far, the latest under an id that came twice."""
        self._results: list[tuple[int, dict[str, Any]]] = []
        """Those of the turn at hand, each with the number of its call."""
        self._shown: list[Any] = []
        """What they have beside words."""

    def add(self, message: chat.Message) -> None:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, chat.ToolResult):
                    self._add_result(part, message)
            return
        self._end_results()
        if message.role == "assistant":
            self._join("model", self._of_model(message))
        elif message.role == "user":
            self._join("user", self._of_user(message) or [{"text": ""}])
        else:
            self._system += self._of_user(message)

    def end(self) -> Turns:
        self._end_results()
        if not self._contents:  # a system message alone is a question to OpenAI, and no request to Gemini
            return Turns([], [{"role": "user", "parts": self._system or [{"text": ""}]}])
        return Turns(self._system, self._contents)

    def _join(self, role: str, parts: list[Any]) -> None:
        """Put parts into the last turn of their role, or a new one."""
        if not parts:
            return
        if role != self._open:
            self._contents.append({"role": role, "parts": []})
            self._open = role
        self._contents[-1]["parts"] += parts

    def _add_result(self, result: chat.ToolResult, message: chat.Message) -> None:
        number, name = self._calls.get(result.call_id, (len(self._calls), message.name))
        if not name:
            path = f"{message.place}.{self._request.called('tool_call_id')}"
            raise InvalidRequest(
                f'`{path}` is about a call "{result.call_id[:200]}" that no message before it holds',
                remedy="send the assistant's message with the call too, before its result",
                param=path,
            )
        texts = [part.text for part in result.parts if isinstance(part, chat.Text)]
        told: Any = texts if len(texts) > 1 else "".join(texts)
        response = {"error" if result.is_error else "output": told}
        self._results.append((number, {"functionResponse": {"id": result.call_id, "name": name, "response": response}}))
        others = [piece for part in result.parts if not isinstance(part, chat.Text) for piece in self._content(part, message)]
        if others:
            self._shown += [{"text": f"Belongs to the result of the call {result.call_id}:"}, *others]

    def _end_results(self) -> None:
        if not self._results:
            return
        self._results.sort(key=lambda result: result[0])
        self._contents.append({"role": "user", "parts": [part for _, part in self._results]})
        self._open = ""
        self._results = []
        self._join("user", self._shown)
        self._shown = []

    def _of_user(self, message: chat.Message) -> list[Any]:
        return [piece for part in message.parts for piece in self._content(part, message)]

    def _of_model(self, message: chat.Message) -> list[Any]:
        parts: list[Any] = []
        waiting: list[str] = []
        """Signatures whose text is still to come: where they stood behind it, not every dialect can tell."""
        called = False
        for part in message.parts:
            if isinstance(part, chat.Thinking | chat.RedactedThinking):
                signature = unmarked(part.signature, DIALECT) if isinstance(part, chat.Thinking) else ""
                if signature and parts and isinstance(parts[-1], dict) and parts[-1].keys() == {"text"}:
                    parts[-1]["thoughtSignature"] = signature
                elif signature:
                    waiting.append(signature)
                continue
            pieces = self._content(part, message)
            if waiting and pieces:
                if isinstance(part, chat.Text):
                    pieces[0]["thoughtSignature"] = waiting.pop()
                parts += [_no_more_than(signature) for signature in waiting]
                waiting = []
            if isinstance(part, chat.ToolCall):
                self._calls[part.id] = (len(self._calls), part.name)
                signature = unmarked(part.signature, DIALECT) or ("" if called else NO_SIGNATURE)
                pieces[0].update({"thoughtSignature": signature} if signature else {})
                called = True
            parts += pieces
        return [*parts, *(_no_more_than(signature) for signature in waiting)]

    def _content(self, part: chat.Part, message: chat.Message) -> list[Any]:
        """The parts for one; none where Gemini takes none."""
        where = f"{message.place}.content"
        match part:
            case chat.Text() | chat.Refusal():
                return [{"text": part.text}] if part.text else []
            case chat.ToolCall():
                return [{"functionCall": {"id": part.id, "name": part.name, "args": msgspec.Raw(part.arguments.encode())}}]
            case chat.Image():
                if not self._abilities.images:
                    raise unsupported(where, "this model sees no images", "send text instead")
                return [_media(part, where)]
            case chat.Audio():
                if not self._abilities.audio:
                    raise unsupported(where, "this model hears no sound", "send text instead")
                return [{"inlineData": {"mimeType": f"audio/{part.format}", "data": part.data}}]
            case chat.Document():
                return self._document(part, where)
            case chat.Foreign(dialect="gemini"):
                return [part.raw]
        kind = part.kind if isinstance(part, chat.Foreign) else type(part).__name__.lower()
        raise unsupported(where, f"this model takes no part of type {kind[:200]} here", "send text instead")

    def _document(self, part: chat.Document, where: str) -> list[dict[str, Any]]:
        if part.citations:
            raise unsupported(where, "this model's server gives no citations", "leave out `citations` of the document")
        if not part.data and not part.url:
            text = "\n\n".join(text for text in (part.title, part.context, part.text) if text)
            return [{"text": text}] if text else []
        if not self._abilities.documents:
            raise unsupported(where, "this model reads no documents", "send their text instead")
        about = "\n\n".join(text for text in (part.title, part.context) if text)
        return [*([{"text": about}] if about else []), _media(part, where)]


def _no_more_than(signature: str) -> dict[str, Any]:
    """A part for a signature without its text, as streams end with it too."""
    return {"text": "", "thoughtSignature": signature}


def _media(part: chat.Image | chat.Document, where: str) -> dict[str, Any]:
    if part.data:
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    if not part.url.startswith(("http://", "https://")):
        raise InvalidRequest(
            f"`{where}` has an address that is neither http, https nor a base64 data URL",
            remedy="give an https address, or data:image/png;base64,...",
            param=where,
        )
    kind = part.media_type or _MEDIA_TYPES.get(splitext(_path(part.url))[1].lower(), "")
    return {"fileData": {**({"mimeType": kind} if kind else {}), "fileUri": part.url}}


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:  # of a host in half a pair of brackets
        return ""
