"""What the drills found, as tables that Markdown reads too."""

from collections.abc import Iterator, Sequence

from benchmarks.scheduler.drills.faults import Fault, Found
from benchmarks.scheduler.drills.routers import OURS
from benchmarks.scheduler.drills.trace import Row

OWN, PLAIN = OURS.policies
SHARED = 0.95
"""Of a shared cache's hits, ours has at least so many."""
HALF = 0.5
"""Of the P90 of time to first token of each other router's best policy, ours is at most so much."""
WORSE = 1.03
"""Times the P90 of round robin, ours is nowhere more."""

HEAD = (
    "| load | router | policy | TTFT P50, s | TTFT P90, s | hits | of the shared cache's | failed | router's CPU, ms a call |"
    " router, replicas, load busy | load late, P99 s |\n"
    "|---:|---|---|---:|---:|---:|---:|---:|---:|---|---:|"
)


def line(row: Row) -> str:
    """A run as a row of the table."""
    busy = ", ".join(f"{share:.0%}" for share in (row.router_busy, row.replicas_busy, row.load_busy))
    return (
        f"| {row.load:g} | {row.router} {row.version} | {row.policy} | {row.ttft_p50:.2f} | {row.ttft_p90:.2f} | "
        f"{row.hit_rate:.1%} | {row.of_shared:.1%} | {row.failed} | {row.cpu_ms:.1f} | {busy} | {row.late_p99:.2f} |"
    )


def verdicts(rows: Sequence[Row]) -> Iterator[tuple[str, bool]]:
    """What ours must reach, how much it is, and whether it does."""
    for load in dict.fromkeys(row.load for row in rows):
        here = [row for row in rows if row.load == load]
        own = next((row for row in here if row.name == f"{OURS.name} {OWN}"), None)
        if own is None:
            continue
        yield f"load {load:g}: hits >= {SHARED:.0%} of a shared cache's: {own.of_shared:.1%}", own.of_shared >= SHARED
        for name in dict.fromkeys(row.router for row in here if row.router != OURS.name):
            best = min((row for row in here if row.router == name), key=lambda row: row.ttft_p90)
            share = own.ttft_p90 / best.ttft_p90
            yield f"load {load:g}: P90 <= {HALF:g} of that of {best.name}: {share:.2f}", share <= HALF
        plain = next((row for row in here if row.name == f"{OURS.name} {PLAIN}"), None)
        if plain is not None:
            share = own.ttft_p90 / plain.ttft_p90
            yield f"load {load:g}: P90 <= {WORSE:g} of round robin's: {share:.2f}", share <= WORSE


def fault_line(fault: Fault, found: Found) -> str:
    """What came of a drill, as it is told at once."""
    failed = f", {found.failed} of {found.calls} calls failed, the first with {found.error}" if found.failed else ""
    return f"{fault.number} {found.router} {found.policy}: {_judged(found)}{failed}"


def fault_table(faults: Sequence[Fault], found: Sequence[Found]) -> Iterator[str]:
    """Who stands which drill: a row for each fault, a column for each router and policy."""
    columns = list(dict.fromkeys((each.router, each.version, each.policy) for each in found))
    by_cell = {(each.number, each.router, each.policy): each for each in found}
    yield "| fault | figure | stands | " + " | ".join(f"{router} {version} {policy}" for router, version, policy in columns) + " |"
    yield "|---|---|---:|" + "---:|" * len(columns)
    for fault in faults:
        cells = (by_cell.get((fault.number, router, policy)) for router, _, policy in columns)
        bar = f"{'>=' if fault.at_least else '<='} {fault.limit:g}"
        told = " | ".join("-" if cell is None else _judged(cell) for cell in cells)
        yield f"| {fault.number}. {fault.name} | {fault.figure} | {bar} | {told} |"


def _judged(found: Found) -> str:
    lost = f", {found.failed / found.calls:.0%} lost" if found.failed else ""
    return f"{found.value:.2f}{lost}" if found.passed else f"**{found.value:.2f}{lost}, fails**"
