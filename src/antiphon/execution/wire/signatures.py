"""Signatures of thoughts on their way through callers of any dialect, each with a mark of the dialect whose servers take it back.

A server refuses what another's signed, and a conversation may go from one to the other at every turn: a chain falls back, an alias
is moved. What has no mark is Anthropic's own, whose answers reach callers of its dialect untouched.
"""

from typing import Final

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
