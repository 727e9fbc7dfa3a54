"""Results as people and as scripts read them."""

import msgspec

from antiphon.testing.fidelity.case import RESPONSES
from antiphon.testing.fidelity.cases import streams, usage
from antiphon.testing.fidelity.report import Report, Result, lines

REPORT = Report.of(
    [Result("stream-text", ok=True), Result("stream-done", ok=False, why="it ends early"), Result("usage-asked", ok=True)]
)


def test_a_script_reads_counts_and_cases_and_nothing_else():
    assert msgspec.json.decode(msgspec.json.encode(REPORT)) == {
        "passed": 2,
        "failed": 1,
        "cases": [
            {"id": "stream-text", "ok": True, "why": ""},
            {"id": "stream-done", "ok": False, "why": "it ends early"},
            {"id": "usage-asked", "ok": True, "why": ""},
        ],
    }


def test_people_read_a_score_of_each_group_and_every_miss_with_its_reason():
    shown = list(lines(REPORT, (streams.GROUP, usage.GROUP), [(RESPONSES, 13)]))
    assert shown[0].split() == ["1", "of", "2", "Streamed", "text"]
    assert shown[1].strip() == "stream-done: it ends early"
    assert shown[2].split() == ["1", "of", "1", "Usage"]
    assert shown[3].split() == ["2", "of", "3", "altogether"]
    assert shown[4] == "not offered by this gateway: Responses, /v1/responses (13 cases)"
    assert len(shown) == 5
