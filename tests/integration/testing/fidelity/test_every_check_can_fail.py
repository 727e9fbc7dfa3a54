"""Each check of each case notices something, and what it notices is told as a miss and never as a crash."""

import pytest

from antiphon.testing.fidelity import CASES
from antiphon.testing.fidelity.outcome import Miss
from tests.integration.testing.fidelity.spoiling import spoilt

pytestmark = pytest.mark.xdist_group("fidelity")


def notices(check, outcome):
    try:
        check(outcome)
    except Miss:
        return True
    return False


def name_of(check):
    return getattr(check, "__qualname__", "").split(".")[0]


@pytest.mark.timeout(400)
def test_every_check_of_every_case_notices_a_wrong_outcome(played):
    blind = []
    for case in CASES:
        unproven = [check for check in case.checks if not notices(check, played[case.id].outcome)]
        for _, wrong in spoilt(played[case.id].outcome):
            unproven = [check for check in unproven if not notices(check, wrong)]
            if not unproven:
                break
        blind += [f"{case.id}: {name_of(check)}" for check in unproven]
    assert blind == []
