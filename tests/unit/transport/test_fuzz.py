"""Ten thousand mutated inputs for each part that reads bytes of strangers; ``make fuzz`` feeds a million."""

import pytest

from tests.fuzz import campaign
from tests.fuzz.campaign import TARGETS
from tests.fuzz.corpus import DESYNC


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_found(target):
    report = campaign.run(target, 10_000, seed=7)
    assert report.findings == []
    assert report.count == 10_000


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_seed_gives_the_same_inputs_and_a_number_gives_one_again(target, monkeypatch):
    runs = []
    for first, count in ((0, 50), (0, 50), (49, 1)):
        fed = []
        monkeypatch.setattr(TARGETS[target], "run", lambda self, data, pieces, rng, fed=fed: fed.append((data, pieces)))
        campaign.run(target, count, seed=3, first=first)
        runs.append(fed)
    assert runs[0] == runs[1]
    assert runs[2] == runs[0][49:]
    assert len({data for data, _ in runs[0]}) > 20


def test_what_escapes_is_a_finding_with_how_to_see_it_again(monkeypatch):
    def run(self, data, pieces, rng):
        raise KeyError("escaped")

    monkeypatch.setattr(TARGETS["events"], "run", run)
    report = campaign.run("events", 100, seed=5)
    assert len(report.findings) == campaign.ENOUGH
    assert "KeyError: 'escaped'" in report.findings[2]
    assert "--only events --seed 5 --first 2 --count 1" in report.findings[2]


def test_a_hang_is_a_finding(monkeypatch):
    def run(self, data, pieces, rng):
        while True:
            pass

    monkeypatch.setattr(campaign, "HANG", 0.05)
    monkeypatch.setattr(campaign, "ENOUGH", 1)
    monkeypatch.setattr(TARGETS["server"], "run", run)
    assert "Hang: more than 0.05 s" in campaign.run("server", 1, seed=1).findings[0]


def test_a_leak_is_a_finding(monkeypatch):
    kept = []
    monkeypatch.setattr(campaign, "LOOK", 100)
    monkeypatch.setattr(TARGETS["events"], "run", lambda self, data, pieces, rng: kept.extend([data + b"x"] for _ in range(10)))
    assert "memory grows" in campaign.run("events", 1000, seed=1).findings[-1]


def test_there_are_more_than_forty_forms_of_smuggling():
    assert len(set(DESYNC.values())) >= 40
