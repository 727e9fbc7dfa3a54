"""Fields of a call in OpenAI's dialect that its server does not support, found without a translation."""

from collections.abc import Iterator
from typing import Any

import msgspec

from antiphon.core.types import Call
from antiphon.execution.providers import Abilities
from antiphon.execution.providers._lacking import Lacking
from antiphon.execution.wire.openai.fields import AskedFields
from antiphon.execution.wire.reading import decode_head, encode

_decode_asked = msgspec.json.Decoder(AskedFields).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ABILITIES = ("n", "logprobs", "tools", "json_schema", "seed", "reasoning", "dimensions")
_ENDPOINTS = frozenset(("chat/completions", "completions", "embeddings"))
_PARTS = {"image_url": "vision", "input_audio": "audio", "file": "documents"}


class MissingFields:
    """Refuses what a server lacks by its name, or leaves it out where the caller allows that."""

    def __init__(self, abilities: Abilities, lacking: Lacking) -> None:
        self._abilities = abilities
        self._lacking = lacking
        self._reads_messages = not all(getattr(abilities, ability) for ability in _PARTS.values())

    @property
    def any(self) -> bool:
        """Whether there is anything to look for."""
        return self._reads_messages or not all(getattr(self._abilities, ability) for ability in _ABILITIES)

    def refused(self, call: Call) -> bytes:
        """The body of the call, as it came or without what was left out. Raises UnsupportedParameter."""
        if call.endpoint not in _ENDPOINTS:
            return call.body
        asked = decode_head(_decode_asked, call.body)
        missing = [(name, ability) for name, ability in _asked(asked) if not getattr(self._abilities, ability)]
        if missing and not call.drops:
            raise self._lacking.field(call, *missing[0])
        if self._reads_messages:
            for name, ability in _parts(asked.messages):
                if not getattr(self._abilities, ability):
                    raise self._lacking.field(call, name, ability)
        if not missing:
            return call.body
        fields = decode_head(_decode_fields, call.body)
        for name, _ in missing:
            fields.pop(name, None)
        if "tools" not in fields:
            fields.pop("tool_choice", None)
            fields.pop("parallel_tool_calls", None)
        call.dropped.extend(name for name, _ in missing)
        return encode(fields)


def _asked(asked: AskedFields) -> Iterator[tuple[str, str]]:
    """The fields that were asked for, each with the ability that it needs."""
    format_type = asked.response_format.get("type") if isinstance(asked.response_format, dict) else None
    logprobs = asked.logprobs not in (None, False)
    wanted = {
        ("n", "n"): asked.n not in (None, 1),
        ("logprobs", "logprobs"): logprobs,
        ("top_logprobs", "logprobs"): logprobs and asked.top_logprobs is not None,
        ("tools", "tools"): bool(asked.tools),
        ("response_format", "json_schema"): format_type == "json_schema",
        ("seed", "seed"): asked.seed is not None,
        ("reasoning_effort", "reasoning"): asked.reasoning_effort not in (None, "none"),
        ("dimensions", "dimensions"): asked.dimensions is not None,
    }
    return (field for field, is_wanted in wanted.items() if is_wanted)


def _parts(messages: Any) -> Iterator[tuple[str, str]]:
    """The parts of messages that are no text, by their place, each with the ability that it needs."""
    for number, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, dict) else None
        for place, part in enumerate(content if isinstance(content, list) else ()):
            kind = part.get("type") if isinstance(part, dict) else None
            if isinstance(kind, str) and kind in _PARTS:
                yield f"messages[{number}].content[{place}]", _PARTS[kind]
