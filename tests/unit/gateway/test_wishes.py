"""What headers say of how a call should be scheduled."""

import pytest

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import NO_WISHES, Wishes
from antiphon.gateway.wishes import wishes_of
from antiphon.transport.server import Request


def request(**headers):
    fields = {f"x-antiphon-{name}".replace("_", "-").encode(): value for name, value in headers.items()}
    return Request("POST", b"/v1/chat/completions", {b"host": b"a", **fields}, b"{}")


def test_nothing_is_no_wish():
    assert wishes_of(request()) is NO_WISHES


def test_all_of_them():
    wishes = wishes_of(
        request(tier=b"P0", **{"class": b"realtime"}, first_token_within=b"0.5", answer_within=b"20", session=b"s 1", region=b"eu")
    )
    assert wishes == Wishes(0, True, 0.5, 20.0, "s 1", "eu")


@pytest.mark.parametrize(("value", "tier"), [(b"0", 0), (b" 1 ", 1), (b"2", 2), (b"p1", 1), (b"P2", 2)])
def test_tiers(value, tier):
    assert wishes_of(request(tier=value)).tier == tier


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tier", b"3"),
        ("tier", b"-1"),
        ("tier", b"high"),
        ("class", b"urgent"),
        ("answer_within", b"0"),
        ("answer_within", b"-3"),
        ("answer_within", b"nan"),
        ("answer_within", b"inf"),
        ("answer_within", b"1e99"),
        ("first_token_within", b"soon"),
        ("session", b"s" * 257),
        ("region", b"r" * 300),
    ],
)
def test_a_wrong_one_is_named(name, value):
    with pytest.raises(InvalidRequest) as caught:
        wishes_of(request(**{name: value}))
    assert caught.value.param == f"x-antiphon-{name}".replace("_", "-")
    assert len(str(caught.value)) < 300
