"""Reads answers as a strict client of their dialect does."""

from antiphon.testing.fidelity.outcome import Outcome
from antiphon.testing.fidelity.reading import anthropic_messages, ollama_chat, openai_chat, openai_responses
from antiphon.testing.fidelity.reading.reply import Called, Reply, Spoken, Thought

__all__ = ["Called", "Reply", "Spoken", "Thought", "read", "so_far"]

_READ = {
    "openai": openai_chat.read,
    "anthropic": anthropic_messages.read,
    "responses": openai_responses.read,
    "ollama": ollama_chat.read,
}
_SO_FAR = {"openai": openai_chat.so_far, "anthropic": anthropic_messages.so_far}


def read(outcome: Outcome) -> Reply:
    """The whole answer. Raises Miss where it is none of its dialect."""
    return _READ[outcome.callers](outcome)


def so_far(outcome: Outcome) -> Reply:
    """What a stream told before it broke off. Raises Miss where an event is none of its dialect."""
    return _SO_FAR[outcome.callers](outcome.answer.body)
