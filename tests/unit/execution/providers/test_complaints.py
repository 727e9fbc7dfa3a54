import logging

import pytest

from antiphon.core.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UpstreamUnreachable
from antiphon.execution.providers._complaints import QUIET, Complaints


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO)

    def take() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    return take


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def complaints(clock):
    return Complaints("acme", lambda: clock[0])


GONE = UpstreamUnreachable("nobody listens at acme.example:443", remedy="start it")


def test_a_trouble_is_told_once_with_its_reason_and_its_end_once(complaints, said):
    for _ in range(3):
        complaints.failed(GONE)
    assert said() == [
        "calls to provider acme fail (upstream_unreachable): nobody listens at acme.example:443; start it",
    ]
    for _ in range(2):
        complaints.answered()
    assert said() == ["provider acme answers again"]


def test_another_reason_is_told_and_two_troubles_at_once_each_by_itself(complaints, said, clock):
    for _ in range(3):
        complaints.failed(GONE)
        complaints.failed(UpstreamTimeout())
    assert len(said()) == 2
    clock[0] += QUIET
    complaints.failed(UpstreamUnreachable("there is no host acme.example"))
    assert "there is no host" in said()[0]


def test_what_comes_and_goes_is_told_once_a_minute(complaints, said, clock):
    for _ in range(600):
        complaints.failed(GONE)
        complaints.answered()
        clock[0] += 0.5
    assert len(said()) == 2 * 600 * 0.5 / QUIET


@pytest.mark.parametrize(("status", "told"), [(400, 0), (404, 0), (429, 0), (401, 1), (403, 1), (407, 1), (500, 1), (503, 1)])
def test_what_is_about_one_call_is_not_told(complaints, said, status, told):
    error: UpstreamError = UpstreamRefused(status, b"{}", server="acme")
    complaints.failed(error)
    assert len(said()) == told
