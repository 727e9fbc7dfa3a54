"""What every RecordStore must keep to, as checks that can be run against your own.

Each takes a function that makes a fresh, empty store. A broken promise raises AssertionError with its name.
"""

from collections.abc import Callable, Iterable

import msgspec

from antiphon.core.events import CallFinished
from antiphon.core.ports import RecordStore
from antiphon.core.types import Usage
from antiphon.core.usage import UsageQuery, UsageRow

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
    client="192.0.2.1",
    route="sample",
    waited=0.5,
    candidates={"provider/sample": 0.75},
    hedged=True,
    degraded="model=lighter",
    cost=1234,
    estimated=True,
    team="red",
    project="apollo",
    application="shop",
    user="ann",
)

MakeStore = Callable[[], RecordStore]


def check_record_store(make: MakeStore) -> None:
    """All checks."""
    check_keeps_every_field(make)
    check_latest_first(make)
    check_limit(make)
    check_model(make)
    check_any_text(make)
    check_once(make)
    check_usage(make)
    check_forget(make)


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


def check_once(make: MakeStore) -> None:
    """What was added under a name is not added under it again."""
    store = make()
    store.add(_events("ab"), "first")
    store.add(_events("c"), "second")
    store.add(_events("ab"), "first")
    store.add(_events("d"))
    store.add(_events("d"))
    assert _ids(store.recent(10)) == "ddcba", "each name counts once, and what has no name always"


def check_usage(make: MakeStore) -> None:
    """Sums by what was asked for, of the calls that were asked for."""
    store = make()
    assert [row.calls for row in store.usage(UsageQuery())] == [0], "without calls there is one row, of nothing"
    assert list(store.usage(UsageQuery(("team",)))) == [], "without calls there is no team"
    day = 86400.0
    told = [("red", "x", 0.0), ("red", "y", day), ("blue", "x", day), ("blue", "x", 2 * day), ("", "x", 2 * day)]
    store.add(
        [
            msgspec.structs.replace(SAMPLE_EVENT, team=team, model=model, started_at=SAMPLE_EVENT.started_at + later)
            for team, model, later in told
        ]
    )
    store.add([msgspec.structs.replace(SAMPLE_EVENT, team="red", model="x", error="no", cost=0, estimated=False, usage=Usage())])
    (total,) = store.usage(UsageQuery())
    assert total == UsageRow({}, 6, 1, 50, 100, 20, 25, 5, 5 * 1234), "everything is counted"
    teams = [(row.group, row.calls, row.errors, row.cost) for row in store.usage(UsageQuery(("team",)))]
    assert teams == [({"team": ""}, 1, 0, 1234), ({"team": "blue"}, 2, 0, 2468), ({"team": "red"}, 3, 1, 2468)], "by team"
    days = [(*row.group.values(), row.calls) for row in store.usage(UsageQuery(("model", "day"), only={"team": "red"}))]
    assert days == [("x", "2023-11-14", 2), ("y", "2023-11-15", 1)], "by model and day, of one team"
    spans = UsageQuery(("hour", "month"), since=SAMPLE_EVENT.started_at + day, until=SAMPLE_EVENT.started_at + 2 * day)
    assert [(*row.group.values(), row.calls) for row in store.usage(spans)] == [("2023-11-15T22", "2023-11", 2)], "a span of time"


def check_forget(make: MakeStore) -> None:
    """What began before a moment is forgotten."""
    store = make()
    store.add([msgspec.structs.replace(SAMPLE_EVENT, id=str(number), started_at=float(number)) for number in range(5)])
    assert store.forget(3.0) == 3, "it says how many they were"
    assert _ids(store.recent(10)) == "43", "the others stay"


def _events(ids: str) -> list[CallFinished]:
    return [msgspec.structs.replace(SAMPLE_EVENT, id=identity) for identity in ids]


def _ids(events: Iterable[CallFinished]) -> str:
    return "".join(event.id for event in events)
