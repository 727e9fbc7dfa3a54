"""Which limits hold for whom, and what is reserved at them."""

from antiphon.core.ledger import FOREVER, Limit, Window
from antiphon.core.types import Principal
from antiphon.governance.limits import MAX_KNOWN, Amounts, Limits, Measure, Rule, Scope, holds, settled

MINUTE = Window("sliding", 60)
DAY = Window("calendar", 86400)
ANN = Principal("ann", team="red", project="p", application="a", user="u")
CID = Principal("cid")
CALL: Amounts = (1, 30, 10, 20, 1, 5)


def rule(scope: Scope, name: str, measure: Measure = "requests", capacity: int = 10, window: Window = MINUTE) -> Rule:
    return Rule(scope, name, measure, Limit(capacity, window))


def accounts(limits: Limits, principal: Principal, model: str = "m") -> list[str]:
    return [each.account for each in limits.applied(principal, model)]


def test_a_call_is_counted_wherever_it_belongs() -> None:
    limits = Limits(
        [
            rule("everyone", ""),
            rule("team", "red"),
            rule("team", "blue"),
            rule("project", "p"),
            rule("application", "*"),
            rule("user", "u"),
            rule("key", "ann", "money", window=DAY),
            rule("model", "m", "concurrency", window=FOREVER),
        ]
    )
    assert accounts(limits, ANN) == [
        "everyone:/requests/sliding/60/0",
        "team:red/requests/sliding/60/0",
        "project:p/requests/sliding/60/0",
        "application:a/requests/sliding/60/0",
        "user:u/requests/sliding/60/0",
        "key:ann/money/calendar/86400/0",
        "model:m/concurrency/none/0/0",
    ]
    assert accounts(limits, CID, "other") == ["everyone:/requests/sliding/60/0"]


def test_a_limit_for_each_does_not_hold_for_those_that_are_named_with_the_same_window() -> None:
    limits = Limits([rule("key", "*"), rule("key", "*", "tokens"), rule("key", "ann", capacity=99), rule("key", "ann", window=DAY)])
    assert sorted((each.account, each.limit.capacity) for each in limits.applied(ANN, "m")) == [
        ("key:ann/requests/calendar/86400/0", 10),
        ("key:ann/requests/sliding/60/0", 99),
        ("key:ann/tokens/sliding/60/0", 10),
    ]
    assert [each.limit.capacity for each in limits.applied(CID, "m")] == [10, 10]


def test_who_belongs_to_no_team_is_in_none() -> None:
    assert accounts(Limits([rule("team", "*")]), CID) == []


def test_each_measure_reserves_its_own_amount() -> None:
    measures: tuple[Measure, ...] = ("money", "requests", "tokens", "input_tokens", "output_tokens", "concurrency")
    applied = Limits([rule("key", "*", measure, 1000) for measure in measures]).applied(ANN, "m")
    assert [hold.amount for hold in holds(applied, CALL)] == [5, 1, 30, 10, 20, 1]
    assert settled(applied, (1, 6, 4, 2, 0, 3)) == [3, 1, 6, 4, 2, 0]


def test_an_estimate_that_is_more_than_a_window_has_takes_all_of_it_and_money_is_no_estimate() -> None:
    applied = Limits([rule("key", "*", "tokens", 25), rule("key", "*", "money", 4), rule("key", "*", "requests", 0)]).applied(
        ANN, "m"
    )
    assert [hold.amount for hold in holds(applied, CALL)] == [25, 5, 1]
    nothing = Limits([rule("key", "*", "tokens", 0)]).applied(ANN, "m")
    assert [hold.amount for hold in holds(nothing, CALL)] == [1]  # which finds no room


def test_what_is_remembered_is_bounded() -> None:
    limits = Limits([rule("key", "*")])
    for number in range(MAX_KNOWN + 10):
        limits.applied(Principal(f"k{number}"), f"m{number}")
    assert len(limits._of_callers) <= MAX_KNOWN
    assert len(limits._of_models) <= MAX_KNOWN
