import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "testing-with-antiphon.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_has_code():
    assert BLOCKS


@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_the_code_of_the_page_runs(block):
    exec(compile(BLOCKS[block], f"{PAGE.name}, block {block}", "exec"), {"__name__": "page"})
