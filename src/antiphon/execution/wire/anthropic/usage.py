"""What a server of Anthropic's dialect counts: bit by bit in a stream, all of the answer so far each time.

``input_tokens`` there leaves out what came from the cache or went into it; here all of it is part of the prompt, as everywhere
else.
"""

import msgspec

from antiphon.core.types import Usage
from antiphon.execution.wire.chat_answer import Counted
from antiphon.execution.wire.reading import Count


class _OutputDetails(msgspec.Struct):
    thinking_tokens: Count | None = None


class _Usage(msgspec.Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    output_tokens_details: _OutputDetails | None = None


_decode = msgspec.json.Decoder(_Usage | None).decode


class UsageReader:
    """Keeps what was counted last of each."""

    def __init__(self) -> None:
        self._known: _Usage | None = None

    def count(self, raw: msgspec.Raw) -> None:
        """Take a ``usage`` object, or null. What is no count is left out."""
        try:
            usage = _decode(raw)
        except msgspec.ValidationError:
            return
        if usage is None:
            return
        known = self._known or _Usage()
        told = {name: value for name in usage.__struct_fields__ if (value := getattr(usage, name)) is not None}
        self._known = msgspec.structs.replace(known, **told)

    def counted(self) -> Counted | None:
        """What was used; None where nothing was counted."""
        usage = self._known
        if usage is None:
            return None
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        prompt, completion = (usage.input_tokens or 0) + cached + written, usage.output_tokens or 0
        thought = (usage.output_tokens_details.thinking_tokens or 0) if usage.output_tokens_details is not None else 0
        return Counted(Usage(prompt, completion, prompt + completion, cached, thought), written)

    def usage(self) -> Usage | None:
        """The same, without what went into the cache."""
        counted = self.counted()
        return counted.usage if counted is not None else None
