"""Thoughts in the ``encrypted_content`` of a reasoning item, which is where callers keep what they are to give back unread.

A model's server takes a signed thought back only word for word, and callers may drop the words that they were shown; so the words
go in too. What is packed here is not secret: it is encoded, not encrypted.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from antiphon.execution.wire.chat import RedactedThinking, Thinking
from antiphon.execution.wire.reading import UNREADABLE

_MARK = "antiphon."


class _Thought(msgspec.Struct, omit_defaults=True):
    text: str = ""
    signature: str = ""
    data: str = ""


_decode = msgspec.json.Decoder(_Thought).decode


def pack(thought: Thinking | RedactedThinking) -> str:
    """What a caller keeps of a thought."""
    told = _Thought(thought.text, thought.signature) if isinstance(thought, Thinking) else _Thought(data=thought.data)
    return _MARK + urlsafe_b64encode(msgspec.json.encode(told)).decode()


def unpack(content: str) -> Thinking | RedactedThinking | None:
    """The thought that ``pack`` was given; None for what was packed by somebody else."""
    if not content.startswith(_MARK):
        return None
    try:
        told = _decode(urlsafe_b64decode(content[len(_MARK) :]))
    except (*UNREADABLE, ValueError):
        return None
    return RedactedThinking(told.data) if told.data else Thinking(told.text, told.signature)
