"""JSON responses, written by msgspec."""

from typing import Any

import msgspec
from starlette.responses import Response


class JsonResponse(Response):
    """A struct as JSON, never kept by caches."""

    media_type = "application/json"

    def __init__(self, content: Any) -> None:
        super().__init__(content, headers={"cache-control": "no-store"})

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)
