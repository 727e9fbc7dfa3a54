"""Limits and prices as they are written."""

from pathlib import Path

import pytest

from antiphon.bootstrap.metering import price_of, rules
from antiphon.config import ConfigErrors, Settings, load
from antiphon.config.keys_file import key_rows
from antiphon.config.limit_settings import parse
from antiphon.core.errors import ConfigError
from antiphon.core.ledger import MAX_AMOUNT, Limit, Window
from antiphon.core.types import Principal
from antiphon.governance.prices import Price

SERVED = """
models: []
providers:
  - {name: one, url: "https://one.example/v1", models: [big, {name: small, upstream: small-2}]}
"""
PRICES = "prices: [{model: big, input: 2.5, output: 10}, {model: one/small-2}]\n"


def loaded(folder: Path, more: str) -> Settings:
    file = folder / "antiphon.yaml"
    file.write_text(SERVED + more)
    return load(file, {})


@pytest.mark.parametrize(
    ("text", "amount", "window"),
    [
        ("100/minute", 100, Window("sliding", 60)),
        ("5/10 seconds", 5, Window("sliding", 10)),
        ("0/hour", 0, Window("sliding", 3600)),
        ("3/2 hours", 3, Window("calendar", 7200)),
        ("3/day", 3, Window("calendar", 86400)),
        ("7/week", 7, Window("calendar", 7 * 86400, 4 * 86400)),
        ("1000000/month", 1_000_000, Window("month")),
    ],
)
def test_quotas(text: str, amount: int, window: Window) -> None:
    parsed = parse(text)
    assert (parsed.amount, parsed.window) == (amount, window)


def test_weeks_begin_on_monday() -> None:
    number, _ = parse("7/week").window.slot(1_764_547_200.0)  # Monday, 1 December 2025
    assert parse("7/week").window.slot(1_764_547_199.0)[0] == number - 1


def test_money_is_counted_in_millionths_and_may_have_no_end() -> None:
    assert parse("1.5/day", money=True).amount == 1_500_000
    assert parse("0.000001", money=True) == parse("0.000001", money=True)
    assert parse("250", money=True).window == Window()
    assert parse("0.000001", money=True).amount == 1


@pytest.mark.parametrize("text", [f"{MAX_AMOUNT}0/day", "2 months", "5/3 months"])
def test_what_cannot_be_counted_is_no_quota(text: str) -> None:
    with pytest.raises((ValueError, AssertionError)):
        parse(text)


def test_a_row_is_as_many_rules_as_it_limits(tmp_path: Path) -> None:
    row = "limits: [{scope: team, requests: 9/minute, tokens: 8/day, concurrency: 7, money: 6/month, outage: refuse}]\n"
    found = {rule.measure: rule.limit for rule in rules(loaded(tmp_path, PRICES + row).limits)}
    assert found == {
        "requests": Limit(9, Window("sliding", 60), "closed"),
        "tokens": Limit(8, Window("calendar", 86400), "closed"),
        "concurrency": Limit(7, Window(), "closed"),
        "money": Limit(6_000_000, Window("month"), "closed", "charge"),
    }


def test_money_fails_closed_and_the_rest_as_it_is_told(tmp_path: Path) -> None:
    limits = loaded(tmp_path, PRICES + "limits: [{scope: everyone, requests: 9/minute, money: 6}]\n").limits
    assert {rule.measure: (rule.limit.outage, rule.limit.abandoned) for rule in rules(limits)} == {
        "requests": ("open", "release"),
        "money": ("closed", "charge"),
    }


def test_prices_are_whole_numbers(tmp_path: Path) -> None:
    first, second = loaded(tmp_path, PRICES).prices
    assert price_of(first) == Price(2_500_000, 10_000_000)
    assert price_of(second) == Price()


@pytest.mark.parametrize(
    ("more", "message", "remedy"),
    [
        ("limits: [{scope: key}]", "limits[0] limits nothing", "requests, tokens"),
        ("limits: [{scope: keys, requests: 1/day}]", "limits[0].scope must be", ""),
        ("limits: [{scope: key, requests: 1 per day}]", "limits[0].requests must be a whole number within a time", ""),
        ("limits: [{scope: key, requests: 1/fortnight}]", "limits[0].requests must be", ""),
        ("limits: [{scope: key, requests: 1/2 months}]", "limits[0].requests cannot be: several months", "another time"),
        ("limits: [{scope: everyone, name: ann, requests: 1/day}]", 'is of everyone, and names "ann"', "leave out the name"),
        ("limits: [{scope: model, name: bigg, requests: 1/day}]", 'of the model "bigg", which is not known', 'did you mean "big"'),
        (
            "limits: [{scope: key, requests: 1/day}, {scope: key, requests: 2/24 hours}]",
            "limits[1] and limits[0] both limit the requests",
            "keep one",
        ),
        ("limits: [{scope: key, money: 1/day}]", 'money is limited, and "one/big" has no price', "add it to prices"),
        (
            "limits: [{scope: key, money: 1/day}]\nprices: [{model: big, input: 1}]",
            'money is limited, and "one/small-2" has no price',
            "model: one/small-2",
        ),
        (
            "limits: [{scope: key, name: an, requests: 1/day}]\nserver: {keys: [{name: ann, key: sk}]}",
            'of the key "an"',
            'mean "ann"',
        ),
        ("limits: [{scope: team, name: red, requests: 1/day}]", 'of the team "red", and no key is of it', "known: none"),
        ("limits: [{scope: key, tokens: 1234567890123456/day}]", "limits[0].tokens must be", ""),
        ("limits: [{scope: everyone, money: 9999999999999}]\n" + PRICES, "cannot be: more than", "give less"),
        ("aliases: {al: big}\nprices: [{model: al, input: 1}]", 'is for "al", which is an alias', "name what it leads to: big"),
        ("prices: [{model: bigg}]", 'prices[0] is for "bigg", which is not known', 'did you mean "big"'),
        ("prices: [{model: big}, {model: big}]", '"big" has a price twice', "keep one"),
        ("currency: dollars", "currency must be three capital letters", ""),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_line(tmp_path: Path, more: str, message: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, more)
    errors = caught.value.errors if isinstance(caught.value, ConfigErrors) else (caught.value,)
    assert any(message in error.message and remedy in error.remedy and error.line > 0 for error in errors), str(caught.value)


def test_keys_belong_to_somebody_in_the_configuration_and_in_the_file(tmp_path: Path) -> None:
    digest = "0b" * 32
    (tmp_path / "keys").write_text(f"bob sha256:{digest} team=red  user=b=b\ncid sha256:{'1c' * 32}\n")
    key = "{name: ann, key: sk-a, team: red, project: p, application: a, user: u}"
    server = loaded(tmp_path, f"server: {{keys: [{key}], keys_file: keys}}").server
    assert [row.principal for row in key_rows(server)] == [
        Principal("ann", "red", "p", "a", "u"),
        Principal("bob", "red", user="b=b"),
        Principal("cid"),
    ]


def test_keys_may_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"bob sha256:{'0b' * 32} team=red expires=2026-12-01T09:00:00Z\n")
    server = loaded(tmp_path, "server: {keys: [{name: ann, key: sk-a, expires: 2026-12-02}], keys_file: keys}").server
    assert [row.expires for row in key_rows(server)] == [1_796_169_600.0, 1_796_115_600.0]
    with pytest.raises(ConfigError, match="which is no time"):
        loaded(tmp_path, "server: {keys: [{name: ann, key: sk-a, expires: tomorrow}]}")


@pytest.mark.parametrize("columns", ["expires=soon", "team=", "team=a team=b", "group=a", "team= a", "team"])
def test_other_columns_are_wrong(tmp_path: Path, columns: str) -> None:
    (tmp_path / "keys").write_text(f"bob sha256:{'0b' * 32} {columns}\n")
    with pytest.raises(ConfigError, match="not a name and the SHA-256 of a key"):
        loaded(tmp_path, "server: {keys_file: keys}")
