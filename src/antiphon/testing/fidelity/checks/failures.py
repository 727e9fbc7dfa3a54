"""How failures are told: by a status, or inside a stream."""

import email.utils
import time
from typing import Any

from antiphon.testing.fidelity.case import Check
from antiphon.testing.fidelity.checks.answers import same, says
from antiphon.testing.fidelity.matching import difference
from antiphon.testing.fidelity.outcome import Outcome, decoded, miss, shown
from antiphon.testing.fidelity.reading import so_far
from antiphon.testing.fidelity.reading.events import error_in, events, told

END = 120
"""Bytes that are quoted of the end of a stream."""


def fails(*statuses: int) -> Check:
    """The answer has one of these statuses."""

    def check(outcome: Outcome) -> None:
        if outcome.answer.status not in statuses:
            miss(f"the status should be {' or '.join(map(str, statuses))}; the gateway answered {outcome.summary}")

    return check


def has_error_object(outcome: Outcome) -> None:
    """The answer has an error of the dialect's shape, with a message."""
    error_of(outcome)


def fails_in_words(words: str) -> Check:
    """The answer is an error of Ollama's: a status, and ``error`` as a text."""

    def check(outcome: Outcome) -> None:
        if outcome.answer.status < 400:
            miss(f"the answer should be an error; the gateway answered {outcome.summary}")
        error = decoded(outcome.answer.body, "the error")
        if not isinstance(error, dict) or not isinstance(error.get("error"), str) or words not in error["error"]:
            miss(f"the error should say {shown(words)} as a text; it is {shown(error)}")

    return check


def error_of(outcome: Outcome) -> dict[str, Any]:
    """The error object of an answer. Raises Miss where there is none, or it has no message."""
    if outcome.answer.status < 400:
        miss(f"the answer should be an error; the gateway answered {outcome.summary}")
    body = decoded(outcome.answer.body, f"the error of status {outcome.answer.status}")
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str) or not error["message"]:
        miss(f"the error has not the documented shape: {shown(body)}")
    if outcome.callers == "anthropic" and (body.get("type") != "error" or not isinstance(error.get("type"), str)):
        miss(f"the error has not the documented shape: {shown(body)}")
    return error


def error_says(words: str) -> Check:
    """The message has these words of the model's server."""

    def check(outcome: Outcome) -> None:
        message = error_of(outcome)["message"]
        if words not in message:
            miss(f"the message should say what the model's server said, {shown([words])[1:-1]}; it is {shown([message])[1:-1]}")

    return check


def error_has(**fields: Any) -> Check:
    """Fields of the error object."""

    def check(outcome: Outcome) -> None:
        if fault := difference(fields, error_of(outcome), "error"):
            miss(fault)

    return check


def retry_after(seconds: float, slack: float = 0.0) -> Check:
    """The header ``retry-after`` tells so many seconds, as a number or as a date."""

    def check(outcome: Outcome) -> None:
        if outcome.answer.status < 400:
            miss(f"the answer should be an error; the gateway answered {outcome.summary}")
        value = outcome.answer.header("retry-after")
        if not value:
            miss("there is no header retry-after")
        if abs(_seconds(value) - seconds) > slack:
            miss(f'retry-after is "{value}", not {seconds:g} s')

    return check


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        miss(f'retry-after is "{value}", neither seconds nor a date')


def said_before(text: str) -> Check:
    """What came before the failure was passed on."""

    def check(outcome: Outcome) -> None:
        if outcome.answer.status != 200:
            miss(f"the gateway answered {outcome.summary}")
        same("the text before the failure", so_far(outcome).choice(0).text, text)

    return check


def does_not_look_whole(outcome: Outcome) -> None:
    """Nobody can take what came for a complete answer: it ends in an error, or breaks off."""
    answer = outcome.answer
    if answer.status >= 400:
        return
    if _ended(outcome):
        miss(f"the stream ends as if the answer were complete: ...{_end(answer.body)}")
    if not answer.fault and not _errors(outcome):
        miss(f"the stream ends as if that were all, without an error: ...{_end(answer.body)}")


def _end(body: bytes) -> str:
    return shown(body[-END:].decode("utf-8", "replace").rstrip())


def tells_error(outcome: Outcome) -> None:
    """The failure is told: by a status where nothing was said yet, else by an event, and no end follows."""
    if outcome.answer.status >= 400:
        error_of(outcome)
        return
    if not _errors(outcome):
        miss(f"no event tells of the failure; {outcome.answer.fault or 'the stream just ends'}")
    if _ended(outcome):
        miss("the stream tells of a failure, and then ends as if the answer were complete")


def error_event_says(words: str) -> Check:
    """The error inside the stream has these words of the model's server."""

    def check(outcome: Outcome) -> None:
        errors = _errors(outcome)
        if words not in shown_whole(errors):
            miss(f"the stream's error should say what the model's server said, {shown([words])[1:-1]}; it is {shown(errors)}")

    return check


def shown_whole(errors: list[Any]) -> str:
    """The messages of errors."""
    return " ".join(str(error.get("message", error) if isinstance(error, dict) else error) for error in errors)


def says_or_fails(text: str) -> Check:
    """The answer says this, or tells an error."""

    def check(outcome: Outcome) -> None:
        if outcome.answer.status >= 400:
            error_of(outcome)
        elif not _errors(outcome):
            says(text)(outcome)

    return check


def _errors(outcome: Outcome) -> list[Any]:
    return [error for value in told(outcome.answer.body) if (error := error_in(value))]


def _ended(outcome: Outcome) -> bool:
    if outcome.callers == "anthropic":
        return any(value.get("type") == "message_stop" for value in told(outcome.answer.body))
    return any(event.data.strip() == "[DONE]" for event in events(outcome.answer.body))
