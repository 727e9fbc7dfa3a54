"""What came of a run: a result for each case, for scripts and for people."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from antiphon.testing.fidelity.case import Group, Route


class Result(msgspec.Struct, frozen=True):
    """What came of one case."""

    id: str
    ok: bool
    why: str = ""
    """Why it was missed; empty where it was not."""


class Report(msgspec.Struct, frozen=True):
    """What came of all cases that were played."""

    passed: int
    failed: int
    cases: tuple[Result, ...]

    @classmethod
    def of(cls, results: Iterable[Result]) -> "Report":
        """The report of these results."""
        cases = tuple(results)
        passed = sum(result.ok for result in cases)
        return cls(passed, len(cases) - passed, cases)


def lines(report: Report, groups: Sequence[Group], missing: Sequence[tuple[Route, int]] = ()) -> Iterator[str]:
    """The report for people: a score for each group, each miss with its reason, and what the gateway does not offer."""
    results = {result.id: result for result in report.cases}
    for group in groups:
        played = [results[case.id] for case in group.cases if case.id in results]
        if not played:
            continue
        passed = sum(result.ok for result in played)
        yield f"{passed:4} of {len(played):3}  {group.title}"
        for result in played:
            if not result.ok:
                yield f"             {result.id}: {result.why}"
    yield f"{report.passed:4} of {report.passed + report.failed:3}  altogether"
    for route, cases in missing:
        yield f"not offered by this gateway: {route.title}, {route.path} ({cases} cases)"
