"""Signatures of thoughts on their way through callers of any dialect, each with a mark of the dialect whose servers take it back.

A server refuses what another's signed, and a conversation may go from one to the other at every turn: a chain falls back, an alias
is moved. What has no mark is Anthropic's own, whose answers reach callers of its dialect untouched.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from antiphon.execution.wire.chat import Part, Thinking, ToolCall
from antiphon.execution.wire.chat_answer import AnswerPart

MARK: Final = "antiphon:"
"""What every mark begins with. No vendor's signature has a colon."""
_UNMARKED: Final = "anthropic"
_CALLS: Final = f"{MARK}call:"


def marked(signature: str, dialect: str) -> str:
    """A signature that servers of ``dialect`` made, fit to travel."""
    return f"{MARK}{dialect}:{signature}"


def unmarked(signature: str, dialect: str) -> str:
    """The signature as servers of ``dialect`` made it; empty where others did."""
    if not signature.startswith(MARK):
        return signature if dialect == _UNMARKED else ""
    mark, _, own = signature.removeprefix(MARK).partition(":")
    return own if mark == dialect else ""


def of_call(signature: str) -> str:
    """The signature of a call of a tool, where its dialect can only give it to the thought before the call."""
    return _CALLS + signature


def for_call(signature: str) -> str:
    """The signature of the call that follows a thought; empty where the signature is the thought's own."""
    return signature.removeprefix(_CALLS) if signature.startswith(_CALLS) else ""


def at_thoughts(parts: Iterable[AnswerPart]) -> list[AnswerPart]:
    """The parts of an answer with the signature of each call at the thought before it."""
    told: list[AnswerPart] = []
    for part in parts:
        if isinstance(part, ToolCall) and part.signature:
            thought = told[-1] if told else None
            if isinstance(thought, Thinking) and not thought.signature:
                told[-1] = Thinking(thought.text, of_call(part.signature))
            else:
                told.append(Thinking("", of_call(part.signature)))
        told.append(part)
    return told


def at_calls(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of a message, each call with its signature, which its answer had at the thought before it."""
    told: list[Part] = []
    signature = ""
    for part in parts:
        if isinstance(part, Thinking) and (found := for_call(part.signature)):
            signature = found
            told += [Thinking(part.text)] if part.text else []
            continue
        told.append(msgspec.structs.replace(part, signature=signature) if isinstance(part, ToolCall) and signature else part)
        signature = ""
    return tuple(told)
