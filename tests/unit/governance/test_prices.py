"""What calls cost, to the millionth."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.types import Usage
from antiphon.governance.prices import FREE, MILLION, Price, dearest, in_millionths

rates = st.integers(0, 10**9)
prices = st.builds(Price, rates, rates, st.none() | rates, st.none() | rates, rates, st.integers(0, 10**5))


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    prompt, completion = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    cached, reasoning = draw(st.integers(0, prompt)), draw(st.integers(0, completion))
    return Usage(prompt, completion, prompt + completion, cached, reasoning)


def test_cached_tokens_are_billed_once_and_at_their_own_price() -> None:
    price = Price(in_millionths(1.25), in_millionths(10), in_millionths(0.625))
    assert price.of(Usage(262_960, 1744, 264_704, 257_955)) == 184_918


def test_reasoning_has_a_price_of_its_own_where_it_is_given() -> None:
    assert Price(0, 2 * MILLION, reasoning=5 * MILLION).of(Usage(0, 10, 10, 0, 4)) == 6 * 2 + 4 * 5
    assert Price(0, 2 * MILLION).of(Usage(0, 10, 10, 0, 4)) == 20


def test_a_call_may_have_a_price_besides() -> None:
    assert Price(MILLION, call=in_millionths(0.01) * MILLION).of(Usage(7, 0, 7)) == 10_007


def test_more_cached_tokens_than_there_are_cost_what_there_is() -> None:
    assert Price(2 * MILLION, cached_input=MILLION).of(Usage(5, 0, 5, 9)) == 5


@given(prices, usages())
def test_the_cost_is_the_exact_one_rounded_and_never_above_the_bound(price: Price, usage: Usage) -> None:
    cached = price.input if price.cached_input is None else price.cached_input
    reasoning = price.output if price.reasoning is None else price.reasoning
    exact = Fraction(
        price.call
        + (usage.prompt_tokens - usage.cached_tokens) * price.input
        + usage.cached_tokens * cached
        + (usage.completion_tokens - usage.reasoning_tokens) * price.output
        + usage.reasoning_tokens * reasoning,
        MILLION,
    )
    assert abs(price.of(usage) - exact) <= Fraction(1, 2)
    assert price.of(usage) <= price.at_most(usage.prompt_tokens, usage.completion_tokens)


@given(st.lists(prices, min_size=1, max_size=4), usages())
def test_no_call_costs_more_than_the_dearest_price_says(found: list[Price], usage: Usage) -> None:
    bound = dearest(found).at_most(usage.prompt_tokens, usage.completion_tokens)
    assert all(price.of(usage) <= bound for price in found)


def test_the_longest_answer_of_several_is_known_only_if_each_is() -> None:
    assert dearest([Price(max_output=5), Price(max_output=9)]).max_output == 9
    assert dearest([Price(max_output=5), Price()]).max_output == 0
    assert dearest([]) is FREE


@pytest.mark.parametrize(("amount", "millionths"), [(0.1, 100_000), (0.000_000_5, 1), ("12.345678", 12_345_678), (3, 3_000_000)])
def test_amounts_are_what_is_written(amount: float | str, millionths: int) -> None:
    assert in_millionths(amount) == millionths
