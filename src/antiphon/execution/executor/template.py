"""A model that always says the same, in whatever dialect it is asked."""

import time
from collections.abc import Sequence
from typing import Any, Final

from antiphon.core.errors import AntiphonError, InvalidRequest
from antiphon.core.ports import Handle, Sink
from antiphon.core.types import Call, Frame, Usage
from antiphon.execution.executor.replica import NoHandle
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat_answer import Began, Counted, Ended, Event, Finished, TextDelta
from antiphon.execution.wire.dialect import SSE
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.openai.passthrough import DONE
from antiphon.transport import sse

NAME: Final = "antiphon/template"
_COMPLETIONS: Final = "completions"
"""The one endpoint that is asked for text and has no neutral form."""
TEXTUAL: Final = frozenset(name for name, endpoint in ENDPOINTS.items() if endpoint.chat is not None) | {_COMPLETIONS}
"""Endpoints whose answer can be a fixed text."""
_JSON: Final = b"application/json"


class Template:
    """Answers each call with one text, as the only choice. It uses no tokens and looks at nothing that was asked."""

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def name(self) -> str:
        return NAME

    def start(self, call: Call, sink: Sink) -> Handle:
        call.trail.append(NAME)
        try:
            kind, body = self._answer(call)
        except AntiphonError as error:
            sink.fail(error)
            return NoHandle()
        sink.head(200, ((b"content-type", kind),))
        sink.frame(Frame(body, True, call.dialect))
        sink.end(Usage())
        return NoHandle()

    def _answer(self, call: Call) -> tuple[bytes, bytes]:
        """Content type and body. Raises InvalidRequest for a body that is no request, or where no text can be the answer."""
        if call.endpoint == _COMPLETIONS:
            return self._completion(call)
        chat = ENDPOINTS[call.endpoint].chat
        if chat is None:
            raise InvalidRequest("a fixed text cannot answer this", remedy="name a lighter model for the route")
        request = chat.decode_request(call.body)
        if call.stream:
            return chat.stream_type, chat.writer(request, call.id).write(self._events())
        return _JSON, chat.write_whole(self._events(), request, call.id)[1]

    def _events(self) -> Sequence[Event]:
        return (Began(), TextDelta(0, self._text), Finished(0, "stop"), Counted(Usage()), Ended())

    def _completion(self, call: Call) -> tuple[bytes, bytes]:
        choice = {"index": 0, "text": self._text, "logprobs": None, "finish_reason": "stop"}
        body: dict[str, Any] = {
            "id": f"cmpl-{call.id}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": call.model,
            "choices": [choice],
        }
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        if not call.stream:
            return _JSON, reading.encode({**body, "usage": usage})
        counted = sse.encode(reading.encode({**body, "choices": [], "usage": usage})) if call.wants_usage else b""
        return SSE.content_type, sse.encode(reading.encode(body)) + counted + DONE
