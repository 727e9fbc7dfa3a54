import pytest

from antiphon_client.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    CannotConnectError,
    DeadlineExceededError,
    Details,
    InvalidResponseError,
    StreamError,
    of_status,
)
from antiphon_client.transport.retries import LONGEST_ASKED, LONGEST_PAUSE, asked_pause, pause, worth_retrying


def status(code: int, name: str = "", should: bool | None = None) -> APIError:
    return of_status(code)("no", Details(status=code, code=name, worth_retrying=should))


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504, 529])
def test_what_the_server_may_do_better_next_time_is_tried_again(code: int) -> None:
    assert worth_retrying(status(code), repeatable=True)


@pytest.mark.parametrize("code", [300, 400, 401, 403, 404, 409, 413, 422, 501, 505])
def test_what_would_fail_again_is_not(code: int) -> None:
    assert not worth_retrying(status(code), repeatable=True)


def test_a_call_that_changes_something_is_repeated_only_where_it_was_not_begun() -> None:
    assert [code for code in (408, 429, 500, 502, 503, 504, 529) if worth_retrying(status(code), repeatable=False)] == [
        408, 429, 503, 529,
    ]  # fmt: skip
    assert worth_retrying(CannotConnectError("no"), repeatable=False)
    assert not worth_retrying(APIConnectionError("closed"), repeatable=False)


def test_the_server_may_say_so_itself() -> None:
    assert worth_retrying(status(409, should=True), repeatable=True)
    assert not worth_retrying(status(503, should=False), repeatable=True)


def test_a_spent_budget_is_not_asked_again() -> None:
    assert not worth_retrying(status(429, "insufficient_quota"), repeatable=True)


def test_only_what_came_before_an_answer_is_tried_again() -> None:
    assert worth_retrying(CannotConnectError("no"), repeatable=True)
    assert worth_retrying(APIConnectionError("closed before it answered"), repeatable=True)
    for error in (
        APIConnectionError("broke off", Details(worth_retrying=False)),
        CannotConnectError("certificate", Details(worth_retrying=False)),
        APITimeoutError("silent"),
        DeadlineExceededError("late"),
        StreamError("failed inside"),
        InvalidResponseError("no JSON"),
    ):
        assert not worth_retrying(error, repeatable=True), error


def test_pauses_double_up_to_a_bound_and_chance_shortens_them() -> None:
    assert [pause(failures, None, 0.0) for failures in (1, 2, 3, 4, 5, 6, 1000)] == [0.5, 1, 2, 4, 8, 8, LONGEST_PAUSE]
    assert pause(3, None, 1.0) == 1.0


def test_a_server_is_given_the_time_that_it_asks_for_unless_that_is_very_long() -> None:
    assert pause(1, 3.0, 0.0) == 3.0
    assert pause(1, 3.0, 1.0) == pytest.approx(3.3)
    assert pause(1, LONGEST_ASKED + 1, 0.0) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 37.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:48:37 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "much", "retry-after": "2"}, 2.0),
    ],
)
def test_what_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_pause(headers, now=784111740.0) == seconds
