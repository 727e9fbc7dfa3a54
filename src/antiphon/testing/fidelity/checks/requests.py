"""What the model's server is asked."""

from collections.abc import Iterator
from typing import Any

from antiphon.testing.fidelity.case import Check
from antiphon.testing.fidelity.matching import Either, difference
from antiphon.testing.fidelity.outcome import Miss, Outcome, miss, shown

PLACE = "what the model's server is sent"
OWN = frozenset({"model", "messages", "stream", "stream_options"})
"""Fields that a gateway may set of its own in a request that has no parameters."""


def sent(**fields: Any) -> Check:
    """Fields of the request that the model's server gets."""

    def check(outcome: Outcome) -> None:
        if fault := difference(fields, outcome.request):
            miss(f"{PLACE}: {fault}")

    return check


def sent_either(*options: dict[str, Any]) -> Check:
    """One of these sets of fields."""

    def check(outcome: Outcome) -> None:
        if fault := difference(Either(options), outcome.request):
            miss(f"{PLACE}: {fault}")

    return check


def sends_nothing_of(*names: str) -> Check:
    """Fields that must not be there, or be null."""

    def check(outcome: Outcome) -> None:
        if found := {name: outcome.request[name] for name in names if outcome.request.get(name) is not None}:
            miss(f"{PLACE} has {shown(found)}")

    return check


def adds_nothing(outcome: Outcome) -> None:
    """No field that the caller did not set."""
    if added := {name: value for name, value in outcome.request.items() if name not in OWN and value is not None}:
        miss(f"{PLACE} has what the caller did not set: {shown(added)}")


def has_number(name: str) -> Check:
    """A field that must be a number above zero."""

    def check(outcome: Outcome) -> None:
        value = outcome.request.get(name)
        if type(value) is not int or value <= 0:
            miss(f"{PLACE}: {name} is {shown(value)}, not a number above zero")

    return check


def sent_messages(*expected: dict[str, Any]) -> Check:
    """The messages that the model's server gets.

    A text and a list with that text are the same, as are texts in a row; for Anthropic also turns in a row of one speaker.
    """

    def check(outcome: Outcome) -> None:
        actual = outcome.request.get("messages")
        if not isinstance(actual, list) or not all(isinstance(one, dict) for one in actual):
            miss(f"the model's server is sent no messages: {shown(outcome.request)}")
        if fault := difference(_plain(expected, outcome.server), _plain(actual, outcome.server), "messages"):
            miss(f"{PLACE}: {fault}")

    return check


def _plain(messages: Any, server: str) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        if server == "anthropic" and plain and plain[-1]["role"] == message.get("role"):
            plain[-1]["content"] = _joined([*plain[-1]["content"], *parts])
        else:
            plain.append({**message, "content": _joined(parts)})
    return plain


def _joined(parts: list[Any]) -> list[Any]:
    joined: list[Any] = []
    for part in parts:
        if not _is_plain_text(part):
            joined.append(part)
        elif joined and _is_plain_text(joined[-1]):
            joined[-1] = {"type": "text", "text": joined[-1]["text"] + part["text"]}
        elif part["text"]:
            joined.append(part)
    return joined


def _is_plain_text(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text" and isinstance(part["text"], str)


def sent_texts(role: Any, *texts: str) -> Check:
    """Texts that messages of this role have, in this order, in one message or in several."""

    def check(outcome: Outcome) -> None:
        messages = [one for one in outcome.request.get("messages") or () if not difference(role, one.get("role"))]
        said = "\n".join(text for message in messages for text in _texts(message.get("content")))
        at = 0
        for text in texts:
            at = said.find(text, at)
            if at < 0:
                miss(f"{PLACE}: {shown([text])[1:-1]} is not said where it should be: {shown(outcome.request)}")

    return check


def was_asked(*texts: str) -> Check:
    """Texts that must stand somewhere in the request."""

    def check(outcome: Outcome) -> None:
        found = list(_texts(outcome.request))
        if lost := [text for text in texts if not any(text in one for one in found)]:
            miss(f"{PLACE} lacks {shown(lost)}: {shown(outcome.request)}")

    return check


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def keeps_order(names: tuple[str, ...], *path: str | int) -> Check:
    """The fields of the object at this path come in this order."""

    def check(outcome: Outcome) -> None:
        value = outcome.request
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                miss(f"{PLACE} lacks {shown(step)}: {shown(value)}")
        if list(value) != list(names):
            miss(f"{PLACE}: the order of {path[-1]} is {shown(list(value))}, not {shown(list(names))}")

    return check


def refused(name: str) -> Check:
    """The caller is told that this field cannot be served; the model's server is not asked as if it had not been there."""

    def check(outcome: Outcome) -> None:
        if not _is_named(outcome, name):
            miss(f"`{name}` cannot be served, and no error names it to the caller; the gateway answered {outcome.summary}")

    return check


def sent_or_refused(name: str, value: Any) -> Check:
    """The model's server gets this field, or the caller is told that it cannot."""

    def check(outcome: Outcome) -> None:
        if not _is_named(outcome, name):
            sent(**{name: value})(outcome)

    return check


def messages_or_refused(name: str, *expected: dict[str, Any]) -> Check:
    """The model's server gets these messages, or the caller is told what is wrong with them."""

    def check(outcome: Outcome) -> None:
        if not _is_named(outcome, name):
            sent_messages(*expected)(outcome)

    return check


def _is_named(outcome: Outcome, name: str) -> bool:
    return 400 <= outcome.answer.status < 500 and not outcome.asked and name.encode() in outcome.answer.body


def asked(times: int) -> Check:
    """How often the model's server is asked."""

    def check(outcome: Outcome) -> None:
        if len(outcome.asked) != times:
            raise Miss(f"the model's server was asked {len(outcome.asked)} times, not {times}")

    return check
