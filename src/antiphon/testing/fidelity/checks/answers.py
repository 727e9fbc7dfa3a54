"""What the answer says."""

from typing import Any

from antiphon.testing.fidelity.case import Check
from antiphon.testing.fidelity.matching import difference
from antiphon.testing.fidelity.outcome import Outcome, decoded, miss, shown
from antiphon.testing.fidelity.reading import Called, read
from antiphon.testing.fidelity.reading.events import succeeded


def says(text: str, choice: int = 0) -> Check:
    """The choice says this, to the letter."""

    def check(outcome: Outcome) -> None:
        same("the text", read(outcome).choice(choice).text, text)

    return check


def refuses(text: str) -> Check:
    """The model's refusal."""

    def check(outcome: Outcome) -> None:
        same("the refusal", read(outcome).choice(0).refusal, text)

    return check


def thinks(text: str) -> Check:
    """What the model thought, apart from what it said."""

    def check(outcome: Outcome) -> None:
        same("the reasoning", read(outcome).choice(0).thought, text)

    return check


def signed(signature: str) -> Check:
    """The signature of what the model thought."""

    def check(outcome: Outcome) -> None:
        signatures = [thought.signature for thought in read(outcome).choice(0).thoughts]
        if signatures != [signature]:
            miss(f"the signatures of the thinking are {shown(signatures)}, not {shown([signature])}")

    return check


def finishes(reason: str, choice: int = 0, stop: str | None = None) -> Check:
    """Why the choice ended, in the dialect's own word; ``stop``: what ended it, where the dialect tells."""

    def check(outcome: Outcome) -> None:
        spoken = read(outcome).choice(choice)
        if spoken.finish != reason:
            miss(f"the answer ends for the reason {shown(spoken.finish)}, not {shown(reason)}")
        if stop is not None and spoken.stop != stop:
            miss(f"what ended the answer is {shown(spoken.stop)}, not {shown(stop)}")

    return check


def calls(*expected: tuple[str, Any], choice: int = 0) -> Check:
    """The tools that are called, in order: name and arguments, which are compared as JSON unless they are expected as text."""

    def check(outcome: Outcome) -> None:
        made = read(outcome).choice(choice).calls
        if [call.name for call in made] != [name for name, _ in expected]:
            miss(f"the calls are {shown([call.name for call in made])}, not {shown([name for name, _ in expected])}")
        for call, (name, arguments) in zip(made, expected, strict=True):
            _same_arguments(name, call, arguments)

    return check


def _same_arguments(name: str, call: Called, expected: Any) -> None:
    what = f"what {name} is called with"
    if isinstance(expected, str):
        same(what, call.arguments, expected)
        return
    given = decoded(call.arguments.encode(), what)
    if fault := difference(expected, given, what) or difference(given, expected, what):
        miss(fault)


def own_ids(outcome: Outcome) -> None:
    """Every call has an id that no other has."""
    ids = [call.id for spoken in read(outcome).choices.values() for call in spoken.calls]
    if not ids or "" in ids or len(set(ids)) < len(ids):
        miss(f"the ids of the calls are {shown(ids)}")


def keeps_ids(*ids: str) -> Check:
    """The calls have the ids that the model's server gave them."""

    def check(outcome: Outcome) -> None:
        made = [call.id for call in read(outcome).choice(0).calls]
        if made != list(ids):
            miss(f"the ids of the calls are {shown(made)}, not {shown(list(ids))}")

    return check


def has(**fields: Any) -> Check:
    """Fields of a message that came in one piece."""

    def check(outcome: Outcome) -> None:
        if fault := difference(fields, read(outcome).choice(0).raw, "the message"):
            miss(fault)

    return check


def blocks(*expected: dict[str, Any]) -> Check:
    """The blocks of a message of Anthropic's, as they came."""

    def check(outcome: Outcome) -> None:
        if fault := difference(expected, read(outcome).choice(0).raw["content"], "content"):
            miss(fault)

    return check


def tells(**fields: Any) -> Check:
    """Fields of an answer in one piece, whatever it is."""

    def check(outcome: Outcome) -> None:
        if fault := difference(fields, decoded(succeeded(outcome), "the answer"), "the answer"):
            miss(fault)

    return check


def every_object_has(**fields: Any) -> Check:
    """Fields that each event, or the one answer, must have."""

    def check(outcome: Outcome) -> None:
        objects = read(outcome).objects
        if not objects:
            miss("the answer is empty")
        for value in objects:
            if fault := difference(fields, value, "each object of the answer"):
                miss(fault)

    return check


def some_object_has(**fields: Any) -> Check:
    """Fields that at least one event must have."""

    def check(outcome: Outcome) -> None:
        if all(difference(fields, value) for value in read(outcome).objects):
            miss(f"no object of the answer has {shown(fields)}")

    return check


def one_value_of(name: str, kind: type) -> Check:
    """A field that is there and the same in all events."""

    def check(outcome: Outcome) -> None:
        values = [value.get(name) for value in read(outcome).objects]
        if not values or any(value != values[0] for value in values) or type(values[0]) is not kind or not values[0]:
            miss(f"`{name}` should be one value for all; it is {shown(values)}")

    return check


def logprobs(*expected: Any) -> Check:
    """The log-probabilities, put together over all events."""

    def check(outcome: Outcome) -> None:
        told = read(outcome).choice(0).logprobs
        if fault := difference(expected, [token for one in told for token in one.get("content") or ()], "logprobs.content"):
            miss(fault)

    return check


def embeds(*vectors: list[float]) -> Check:
    """The vectors, by the index of their inputs, with all their digits."""

    def check(outcome: Outcome) -> None:
        if fault := difference(vectors, _embedded(outcome), "the embeddings"):
            miss(fault)

    return check


def embeds_as_text(*vectors: str) -> Check:
    """The vectors in base64."""

    def check(outcome: Outcome) -> None:
        if fault := difference(vectors, _embedded(outcome), "the embeddings"):
            miss(fault)

    return check


def _embedded(outcome: Outcome) -> list[Any]:
    answer = decoded(succeeded(outcome), "the answer")
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(one, dict) and isinstance(one.get("index"), int) for one in data):
        miss(f"the answer is no list of embeddings with their indices: {shown(answer)}")
    return [one.get("embedding") for one in sorted(data, key=lambda one: int(one["index"]))]


def same(what: str, actual: str, expected: str) -> None:
    """Raises Miss where two texts differ, and says from where on."""
    if actual == expected:
        return
    pairs = zip(actual, expected, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(actual), len(expected)))
    where = f" (from character {at} on)" if len(expected) > 40 else ""
    miss(f"{what} is {shown([actual])[1:-1]}, not {shown([expected])[1:-1]}{where}")
