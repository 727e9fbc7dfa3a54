"""How a stream runs: its end, its usage, its time, and what becomes of it when the caller goes."""

from typing import Any

from antiphon.testing.fidelity.case import Check
from antiphon.testing.fidelity.matching import difference
from antiphon.testing.fidelity.outcome import Outcome, miss, shown
from antiphon.testing.fidelity.reading import read
from antiphon.testing.fidelity.reading.events import events

QUICK = 2.0
"""Seconds in which a small question has to be answered whatever else goes on."""
CLOSED_WITHIN = 2.0
"""Seconds after the caller's leaving in which the model's server has to see it."""


def ends_with_done(outcome: Outcome) -> None:
    """``[DONE]`` comes once, and nothing behind it."""
    read(outcome)
    data = [event.data.strip() for event in events(outcome.answer.body)]
    if data.count("[DONE]") != 1 or data[-1] != "[DONE]":
        miss(f"[DONE] comes {data.count('[DONE]')} times; the last event is {shown(data[-1] if data else '')}")


def is_of_type(content_type: str) -> Check:
    """The answer's content type."""

    def check(outcome: Outcome) -> None:
        read(outcome)
        kind = outcome.answer.header("content-type").partition(";")[0].strip().lower()
        if kind != content_type:
            miss(f'the content type is "{kind}", not {content_type}')

    return check


def not_held_back(outcome: Outcome) -> None:
    """What the model's server said was passed on while it was still speaking."""
    read(outcome)
    if outcome.held_back:
        miss("the gateway held back what the model's server had said")


def finish_comes_last(outcome: Outcome) -> None:
    """The reason for the end is in one event, behind all others with choices, and null before."""
    reasons = [choice.get("finish_reason") for value in read(outcome).objects for choice in value.get("choices") or ()]
    if not reasons or [reason for reason in reasons if reason] != reasons[-1:]:
        miss(f"the finish reasons of the events are {shown(reasons)}")


def counts(**fields: Any) -> Check:
    """The usage, in the dialect's own fields; where it is told several times, what was told last of each field counts."""

    def check(outcome: Outcome) -> None:
        usage: dict[str, Any] = {}
        for one in read(outcome).usage:
            usage |= {name: value for name, value in one.items() if value is not None}
        if fault := difference(fields, usage, "usage"):
            miss(fault)

    return check


def one_usage_event(outcome: Outcome) -> None:
    """The usage is told once: by an event of its own, in which nothing is said, behind all others."""
    objects = read(outcome).objects
    telling = [at for at, value in enumerate(objects) if value.get("usage") is not None]
    if telling != [len(objects) - 1]:
        miss(f"the usage should be told by the last of {len(objects)} events alone; it is told by those at {telling}")
    for choice in objects[-1].get("choices") or ():
        if choice.get("delta") or choice.get("text") or choice.get("finish_reason"):
            miss(f"the event that tells the usage says something else too: {shown(objects[-1])}")


def usage_event_has_no_choices(outcome: Outcome) -> None:
    """The event that tells the usage has an empty list of choices."""
    one_usage_event(outcome)
    last = read(outcome).objects[-1]
    if last.get("choices") != []:
        miss(f"`choices` of the event that tells the usage is not an empty list: {shown(last)}")


def no_usage(outcome: Outcome) -> None:
    """The usage, which was not asked for, is not told."""
    if telling := [value for value in read(outcome).objects if value.get("usage") is not None or value.get("choices") == []]:
        miss(f"the usage was not asked for, and an event tells it: {shown(telling[0])}")


def closed_soon(outcome: Outcome) -> None:
    """The model's server saw within two seconds that the caller had left."""
    if not outcome.asked:
        miss("the model's server was not asked")
    if outcome.closed_after is None:
        miss("the model's server was still held to its answer seconds after the caller had left")
    if outcome.closed_after > CLOSED_WITHIN:
        miss(f"the model's server was held to its answer for {outcome.closed_after:.1f} s after the caller had left")


def others_go_on(outcome: Outcome) -> None:
    """Small questions that were asked meanwhile were answered quickly."""
    if not outcome.waits:
        miss("no small question was asked meanwhile")
    for wait in outcome.waits:
        if wait.fault:
            miss(f"a small question was not answered: {wait.fault}")
    if (longest := max(wait.seconds for wait in outcome.waits)) > QUICK:
        miss(f"a small question waited {longest:.1f} s for its answer")
