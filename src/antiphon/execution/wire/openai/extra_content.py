"""Where OpenAI's dialect has the signature of a call that a Gemini model made: Google's own addition to it.

Shape after Google's documentation, "Thought signatures", its section on compatibility with OpenAI. Clients that know Google's
endpoint for OpenAI's clients send it back as it came.
"""

from typing import Any, Final

from antiphon.execution.wire.signatures import marked, unmarked

_GEMINI: Final = "gemini"


def with_signature(signature: str) -> dict[str, Any]:
    """The field of a call that has this signature; none where Gemini has not made it."""
    own = unmarked(signature, _GEMINI)
    return {"extra_content": {"google": {"thought_signature": own}}} if own else {}


def signature_in(extra_content: Any) -> str:
    """The signature in what a call has there, empty where it has none."""
    match extra_content:
        case {"google": {"thought_signature": str() as own}} if own:
            return marked(own, _GEMINI)
    return ""
