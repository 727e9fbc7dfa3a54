"""Which bars are held, and how it is told."""

import msgspec

from benchmarks.scheduler.drills import report
from benchmarks.scheduler.drills.faults import FAULTS, Found
from benchmarks.scheduler.drills.trace import Row

OURS = Row("antiphon", "1", "balanced", 2.0, 100, 0, "", 0.5, 1.0, 0.27, 0.96, 1.0, 0.1, 0.1, 0.1, 0.0, (50, 50))


def others(plain: float, peer: float) -> list[Row]:
    return [
        OURS,
        msgspec.structs.replace(OURS, policy="round-robin", ttft_p90=plain),
        msgspec.structs.replace(OURS, router="smg", policy="cache_aware", ttft_p90=peer),
        msgspec.structs.replace(OURS, router="smg", policy="round_robin", ttft_p90=100.0),
    ]


def test_every_bar_is_judged_at_every_load() -> None:
    assert [good for _, good in report.verdicts(others(plain=1.0, peer=2.1))] == [True, True, True]
    assert [good for _, good in report.verdicts(others(plain=0.9, peer=1.9))] == [True, False, False]
    few = [msgspec.structs.replace(row, of_shared=0.9) for row in others(1.0, 2.1)]
    assert [good for _, good in report.verdicts(few)] == [False, True, True]


def test_the_best_policy_of_a_router_is_the_one_to_beat() -> None:
    texts = [text for text, _ in report.verdicts(others(plain=1.0, peer=2.0))]
    assert any("smg cache_aware: 0.50" in text for text in texts)


def test_a_load_without_ours_has_no_bars() -> None:
    assert list(report.verdicts(others(1.0, 2.0)[2:])) == []


def test_faults_are_a_table_with_a_column_for_each_router() -> None:
    found = [
        Found(31, "antiphon", "1", "balanced", 0.25, True, 40, 0),
        Found(31, "smg", "2", "cache_aware", 1.0, False, 40, 4, "500: no"),
        Found(32, "antiphon", "1", "balanced", 0.5, False, 40, 0),
    ]
    lines = list(report.fault_table(FAULTS[:2], found))
    assert lines[0].endswith("| antiphon 1 balanced | smg 2 cache_aware |")
    assert "<= 0.4 | 0.25 | **1.00, 10% lost, fails** |" in lines[2]
    assert ">= 0.8 | **0.50, fails** | - |" in lines[3]
    assert "4 of 40 calls failed, the first with 500: no" in report.fault_line(FAULTS[0], found[1])
