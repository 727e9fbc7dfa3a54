"""What every RecordStore must keep to, as checks that can be run against your own.

Each takes a function that makes a fresh, empty store. A broken promise raises AssertionError with its name.
"""

from collections.abc import Callable, Iterable

import msgspec

from antiphon.core.events import CallFinished
from antiphon.core.ports import RecordStore
from antiphon.core.types import Usage

SAMPLE_EVENT = CallFinished(
    id="contract",
    endpoint="chat/completions",
    model="sample",
    target="provider/sample",
    principal="somebody",
    status=200,
    error="",
    stream=True,
    started_at=1_700_000_000.25,
    duration=1.5,
    ttft=0.25,
    usage=Usage(10, 20, 30, 4, 5),
    attempts=1,
)

MakeStore = Callable[[], RecordStore]


def check_record_store(make: MakeStore) -> None:
    """All checks."""
    check_keeps_every_field(make)
    check_latest_first(make)
    check_limit(make)
    check_model(make)
    check_any_text(make)


def check_keeps_every_field(make: MakeStore) -> None:
    """What comes back is what was given."""
    store = make()
    assert list(store.recent(10)) == [], "a fresh store is empty"
    store.add([SAMPLE_EVENT])
    assert list(store.recent(10)) == [SAMPLE_EVENT], "an event comes back as it was given"


def check_latest_first(make: MakeStore) -> None:
    """The order is that of adding, the last one first, also inside a batch."""
    store = make()
    store.add(_events("abc"))
    store.add([])
    store.add(_events("de"))
    assert _ids(store.recent(10)) == "edcba", "the event that was added last comes first"


def check_limit(make: MakeStore) -> None:
    """No more than ``limit`` come back."""
    store = make()
    store.add(_events("abcde"))
    assert _ids(store.recent(2)) == "ed", "limit bounds what comes back"
    assert _ids(store.recent(1000)) == "edcba", "a limit may be larger than the store"


def check_model(make: MakeStore) -> None:
    """A model's name chooses exactly its events, and is counted before the limit."""
    store = make()
    store.add([msgspec.structs.replace(event, model=model) for event, model in zip(_events("abcd"), "xyxy", strict=True)])
    assert _ids(store.recent(10, "x")) == "ca", "only events of the model come back"
    assert _ids(store.recent(1, "x")) == "c", "the limit counts events of the model alone"
    assert _ids(store.recent(10, "X")) == "", "names of models are compared exactly"


def check_any_text(make: MakeStore) -> None:
    """Names that callers choose may hold any Unicode text."""
    store = make()
    strange = "'; drop table calls; -- \x00 模型 \U0001f600 %s {}"
    store.add([msgspec.structs.replace(SAMPLE_EVENT, model=strange)])
    assert [event.model for event in store.recent(10, strange)] == [strange], "any text is kept as it is"


def _events(ids: str) -> list[CallFinished]:
    return [msgspec.structs.replace(SAMPLE_EVENT, id=identity) for identity in ids]


def _ids(events: Iterable[CallFinished]) -> str:
    return "".join(event.id for event in events)
