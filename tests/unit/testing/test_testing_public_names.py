import importlib
from pathlib import Path

from antiphon import testing

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "testing-with-antiphon.md"


def test_public_names_are_sorted_and_importable():
    module = importlib.import_module("antiphon.testing")
    assert testing.__all__ == sorted(testing.__all__)
    assert [name for name in testing.__all__ if not hasattr(module, name)] == []


def test_public_names_are_documented():
    page = PAGE.read_text()
    assert [name for name in testing.__all__ if f"`{name}`" not in page] == []
    assert [name for name in testing.__all__ if not (getattr(testing, name).__doc__ or "").strip()] == []
