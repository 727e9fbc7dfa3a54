"""What callers may use, and what it costs."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from antiphon.core.ledger import MAX_AMOUNT, Window
from antiphon.governance.limits import EACH
from antiphon.governance.prices import MILLION

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_AMOUNT = r"[0-9]{1,15}(\.[0-9]{1,6})?"
_PERIOD = r"([1-9][0-9]{0,3} )?(second|minute|hour|day|week|month)s?"
_QUOTA = re.compile(rf"(?P<amount>{_AMOUNT})(/(?P<count>[1-9][0-9]{{0,3}} )?(?P<unit>second|minute|hour|day|week|month)s?)?")
SLIDES_UP_TO = 3600
"""Seconds up to which a window slides; longer ones begin with the clock, at midnight UTC and so on."""

Quota = Annotated[
    str,
    Meta(
        pattern=rf"^([0-9]{{1,15}}/{_PERIOD})?$",
        description='a whole number within a time, like "100/minute", "5000/24 hours" or "1000000/month"',
    ),
]
Budget = Annotated[
    str,
    Meta(
        pattern=rf"^({_AMOUNT}(/{_PERIOD})?)?$",
        description='an amount of money, once and for all or within a time, like "250", "10.50/day" or "1000/month"',
    ),
]
Scope = Annotated[
    str,
    Meta(
        pattern="^(everyone|team|project|application|user|key|model)$",
        description='"everyone", "team", "project", "application", "user", "key" or "model"',
    ),
]
Outage = Annotated[str, Meta(pattern="^(refuse|allow)$", description='"refuse" or "allow"')]
Owner = Annotated[
    str,
    Meta(
        pattern=r"^([^\s\x00-\x1f\x7f*][^\s\x00-\x1f\x7f]{0,127})?$", description="a name without blanks, of up to 128 characters"
    ),
]
Rate = Annotated[float, Meta(ge=0, le=1_000_000)]


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody may use. Several rows may be for the same; all of them hold."""

    scope: Scope
    """Whose calls count together: those of a ``key``, a ``team``, a ``project``, an ``application`` or a ``user``, those to a
    ``model``, or those of ``everyone``."""
    name: Annotated[str, Meta(min_length=1, max_length=256)] = EACH
    """Which of them. ``*`` is a limit for each of them by itself, as far as none is written for its name."""
    requests: Quota = ""
    """Calls within a time. Times of up to an hour slide; longer ones begin with the clock, in UTC."""
    tokens: Quota = ""
    """Tokens of prompts and answers within a time. A call reserves an estimate, and is charged what it used."""
    input_tokens: Quota = ""
    """Tokens of prompts."""
    output_tokens: Quota = ""
    """Tokens of answers."""
    concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    """Calls at once."""
    money: Budget = ""
    """What the calls may cost, at the ``prices``. A call reserves the most that it can cost, so that a budget is never exceeded."""
    outage: Outage = "allow"
    """What happens to calls while it cannot be known what was used, because the coordinator is being restarted: ``allow`` counts
    them later. Money is always refused."""


class PriceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What calls to a model cost, in one unit of money for all of them. Tokens are priced by the million."""

    model: Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]{1,256}$", description="the name of a model, or provider/model")]
    """A model as callers name it, for all providers that serve it, or ``provider/model``, which goes before that."""
    input: Rate = 0.0
    """A million prompt tokens."""
    output: Rate = 0.0
    """A million answer tokens."""
    cached_input: Rate | None = None
    """A million prompt tokens that the model read from its prefix cache; left out, what other prompt tokens cost."""
    reasoning: Rate | None = None
    """A million answer tokens spent on reasoning; left out, what other answer tokens cost."""
    call: Rate = 0.0
    """Each call, besides."""
    max_output: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    """Tokens that an answer of this model has at most, which bounds what a call without ``max_tokens`` can cost; 0 means unknown:
    such calls are told to stop after 4,096 where money is limited."""


class Parsed(msgspec.Struct, frozen=True):
    """A quota or a budget."""

    amount: int
    """Of what is counted; of money, millionths."""
    window: Window


def parse(text: str, *, money: bool = False) -> Parsed:
    """What the text of a ``Quota`` or a ``Budget`` says. Raises ValueError where the amount is beyond what can be counted."""
    match = _QUOTA.fullmatch(text)
    assert match is not None
    whole, _, fraction = match["amount"].partition(".")
    amount = int(whole) * MILLION + int((fraction or "0").ljust(6, "0")) if money else int(whole)
    if amount > MAX_AMOUNT:
        raise ValueError(f"more than {MAX_AMOUNT // MILLION if money else MAX_AMOUNT} cannot be counted")
    if match["unit"] is None:
        return Parsed(amount, Window())
    if match["unit"] == "month":
        if match["count"] not in (None, "1 "):
            raise ValueError('several months are no window; write "month", or a number of days')
        return Parsed(amount, Window("month"))
    seconds = int(match["count"] or 1) * _UNITS[match["unit"]]
    offset = 4 * 86400 if match["unit"] == "week" else 0  # weeks begin on Monday, and 1970 began on a Thursday
    return Parsed(amount, Window("sliding", seconds) if seconds <= SLIDES_UP_TO else Window("calendar", seconds, offset))
