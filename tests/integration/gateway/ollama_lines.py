"""The lines of a scripted server that speaks Ollama's dialect."""

import json
from typing import Any

from antiphon.testing import Body, Header, MockUpstream, Wire

NDJSON = Header("content-type", "application/x-ndjson")
CREATED = "2026-01-02T03:04:05.678901234Z"
COUNTS = {"prompt_eval_count": 12, "eval_count": 3}
PARTS = ["Grü", "ße, ", "世界"]


def line(content: str = "", /, **fields: Any) -> Body:
    """A line of /api/chat; ``thinking`` and ``tool_calls`` belong to its message."""
    return Body(json.dumps(message(content, **fields), ensure_ascii=False) + "\n")


def message(content: str = "", /, **fields: Any) -> dict[str, Any]:
    """What a line says, or a whole answer."""
    more: dict[str, Any] = {name: fields.pop(name) for name in ("thinking", "tool_calls") if name in fields}
    said = {"role": "assistant", "content": content, **more}
    return {"model": "mock-model", "created_at": CREATED, "message": said, "done": False, **fields}


def last(reason: str = "stop", **fields: Any) -> dict[str, Any]:
    """What the last line has, and a whole answer."""
    return {"done": True, "done_reason": reason, "total_duration": 9, "load_duration": 1, **COUNTS, **fields}


def called(name: str, arguments: Any, **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"name": name, "arguments": arguments}}


def stream(upstream: MockUpstream, *steps: Any, wire: Wire | None = None, **script: Any) -> None:
    """Have the server answer with these lines."""
    upstream.script(NDJSON, *steps, wire=wire or Wire(framing="chunked"), **script)


def row(upstream: MockUpstream, **more: Any) -> dict[str, Any]:
    """The row of configuration for such a server."""
    return {"protocol": "ollama", "url": upstream.url.removesuffix("/v1"), **more}
