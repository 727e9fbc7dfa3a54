"""What calls cost: prices by the token and by the call, in whole numbers, so that sums are exact."""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

import msgspec

from antiphon.core.types import Usage

MILLION: Final = 1_000_000


class Price(msgspec.Struct, frozen=True, gc=False):
    """What one model costs.

    A price of 1.25 for a million tokens is 1.25 millionths for each; here it is 1,250,000, in millionths of that, so that prices
    with up to six decimals are whole numbers.
    """

    input: int = 0
    output: int = 0
    cached_input: int | None = None
    """Of prompt tokens that the model has read from its prefix cache; left out, they cost what others cost."""
    reasoning: int | None = None
    """Of answer tokens spent on reasoning; left out, they cost what others cost."""
    call: int = 0
    """Of the call itself, in the same unit: millionths of a millionth."""
    max_output: int = 0
    """Tokens that the model's answer has at most; 0 where that is not known."""

    def of(self, usage: Usage) -> int:
        """What a call cost that used so much, in millionths of the unit of money, rounded to the nearest."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        reasoning = min(usage.reasoning_tokens, usage.completion_tokens)
        total = (
            self.call
            + (usage.prompt_tokens - cached) * self.input
            + cached * (self.input if self.cached_input is None else self.cached_input)
            + (usage.completion_tokens - reasoning) * self.output
            + reasoning * (self.output if self.reasoning is None else self.reasoning)
        )
        return (total + MILLION // 2) // MILLION

    def at_most(self, input_tokens: int, output_tokens: int) -> int:
        """The most that a call can cost that uses so many tokens at most, in millionths, rounded up."""
        input_price = max(self.input, self.cached_input or 0)
        output_price = max(self.output, self.reasoning or 0)
        return -(-(self.call + input_tokens * input_price + output_tokens * output_price) // MILLION)


FREE: Final = Price()


def dearest(prices: Iterable[Price]) -> Price:
    """A price that none of these exceeds in anything: for a call of which it is not known yet who will answer it."""
    found = list(prices)
    if not found:
        return FREE
    longest = 0 if any(price.max_output == 0 for price in found) else max(price.max_output for price in found)
    return Price(
        max(max(price.input, price.cached_input or 0) for price in found),
        max(max(price.output, price.reasoning or 0) for price in found),
        call=max(price.call for price in found),
        max_output=longest,
    )


def in_millionths(amount: str | float) -> int:
    """A number of units as whole millionths, rounded half up; floats by their shortest notation, so that .1 is a tenth."""
    return int((Decimal(str(amount)) * MILLION).to_integral_value(ROUND_HALF_UP))
