"""The pipeline's docstring and its list of stages say the same, in the same order."""

import re

from antiphon.gateway import pipeline

NUMBERED = re.compile(r"^(\d+)\. (\w+): \S", re.MULTILINE)


def stages_in(docstring: str) -> list[tuple[int, str]]:
    return [(int(number), name) for number, name in NUMBERED.findall(docstring)]


def test_the_docstring_is_the_list():
    assert stages_in(pipeline.__doc__ or "") == [(stage.number, stage.name) for stage in pipeline.STAGES]


def test_stages_are_in_order_and_closing_ones_come_last():
    assert [stage.number for stage in pipeline.STAGES] == sorted({stage.number for stage in pipeline.STAGES})
    assert [stage.closing for stage in pipeline.STAGES] == sorted(stage.closing for stage in pipeline.STAGES)


def test_the_check_reads_what_is_numbered():
    assert stages_in("Stages.\n\n1. identify: who\n3. reserve: what\n\n4 things\n5.x: no\n") == [(1, "identify"), (3, "reserve")]
