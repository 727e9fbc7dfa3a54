"""The pages about fidelity say what the code does."""

import asyncio
import re
from pathlib import Path

from antiphon.testing.fidelity import CASES, Gateway, Stage, Suite
from antiphon.testing.fidelity.gateways import KNOWN
from antiphon.testing.fidelity.page import page

DOCS = Path(__file__).parents[4] / "docs"
HOW_TO = (DOCS / "how-to" / "fidelity.md").read_text()
RESULTS = (DOCS / "reference" / "fidelity-results.md").read_text()


def test_the_page_of_cases_is_the_one_that_the_code_writes():
    remedy = 'run "python -m antiphon.testing.fidelity.page > docs/reference/fidelity.md"'
    assert (DOCS / "reference" / "fidelity.md").read_text() == page(), remedy


def test_every_case_and_group_is_on_it():
    shown = page()
    assert [case.id for case in CASES if f"`{case.id}`" not in shown] == []


def test_the_case_of_the_how_to_is_one_that_can_be_played():
    made: dict[str, object] = {}
    (program,) = re.findall(r"```python\n(.*?)```", HOW_TO, re.DOTALL)
    exec(program, made)
    with Stage() as stage:  # the scripted server is a gateway that passes on everything
        result = asyncio.run(Suite(Gateway(f"http://127.0.0.1:{stage.port}"), stage).play(made["CASE"]))
    assert (result.ok, result.why) == (True, "")


def test_the_how_to_names_every_gateway_that_is_known():
    assert [gateway.name for gateway in KNOWN if gateway.name not in HOW_TO.lower()] == []


def test_the_results_name_cases_that_there_are():
    ids = {case.id for case in CASES}
    named = set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", RESULTS.split("\n## ", 1)[1]))
    assert {name for name in named if name.split("-")[0] in {one.split("-")[0] for one in ids}} - ids == set()
