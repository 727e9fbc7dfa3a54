"""What a model's server says in these tests."""

from typing import Any

from antiphon.testing import Done, Event, Header

CHUNK: Any = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
SAYS: Any = [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}]
STOPS: Any = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
HI = (Header("content-type", "text/event-stream"), Event(CHUNK | {"choices": SAYS}), Event(CHUNK | {"choices": STOPS}), Done())
"""A short stream."""
