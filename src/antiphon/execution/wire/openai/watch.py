"""Watches answers of OpenAI's dialect go by: as they came, unless a server told calls of tools or usage as nobody should."""

import re
from typing import Final

from antiphon.core.errors import UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.openai.mending import Mender
from antiphon.execution.wire.openai.passthrough import DONE, begins, each_chunk, finished, told_error, up_to_done
from antiphon.transport import sse

_CALLS: Final = re.compile(rb'"tool_calls"\s*:\s*\[\s*\{')
_USAGE: Final = re.compile(rb'"usage"\s*:\s*\{')


class Watch:
    """Watches one streamed answer: it must end in ``[DONE]``, or at least with a finish reason."""

    def __init__(self, hides_usage: bool) -> None:
        self.ended = False
        self.begun = False
        self.failure: UpstreamRefused | None = None
        self._mender = Mender(not hides_usage)
        self._tail = b""
        self._last = b""
        """The last two frames, one of which has a finish reason: a server may send the end in two pieces."""

    def take(self, raw: bytes) -> bytes:
        """What of whole events is passed on, up to ``[DONE]`` or an error."""
        done = up_to_done(raw) if b"[DONE]" in raw else None
        if done is not None:
            raw = done
        if b'"error"' in raw:
            raw = self._up_to_error(raw)
        if raw:
            self._tail, self._last = self._last, raw
        if (b'"tool_calls"' in raw and _CALLS.search(raw)) or (b'"usage"' in raw and _USAGE.search(raw)):
            raw = self._mender.mended(raw)
        self.ended = done is not None and self.failure is None
        if self.ended:
            raw = self._mender.with_usage(raw, self._tail + self._last)
        if raw and not self.begun:
            self.begun = begins(raw)
        return raw

    def finish(self) -> bytes:
        """``[DONE]``, where the answer was complete without it. Raises UpstreamBroken where it was not."""
        frames = self._tail + self._last
        if not any(finished(choice) for chunk in each_chunk(frames) if chunk for choice in chunk.choices):
            raise UpstreamBroken("the model's server ended its stream without a finish reason: the answer is cut off")
        return self._mender.with_usage(DONE, frames)

    def usage(self) -> Usage | None:
        """What was used, as far as the server told it."""
        return self._mender.usage

    def _up_to_error(self, raw: bytes) -> bytes:
        length = 0
        for event in sse.split(raw):
            for chunk in each_chunk(event):
                if chunk is not None and chunk.error:
                    self.failure = told_error(chunk.error, sse.parse(event)[0].data.encode())
                    return raw[:length]
            length += len(event)
        return raw
