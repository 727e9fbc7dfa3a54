import re
import subprocess
import sys
import textwrap
from importlib import resources
from pathlib import Path

import antiphon_client
from antiphon_client import errors

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "python-client.md"
HEAVY = (
    "antiphon.",
    "httpx2",
    "jinja2",
    "numpy",
    "openvino",
    "prometheus_client",
    "pydantic",
    "rich",
    "starlette",
    "typer",
    "uvicorn",
    "yaml",
)


def test_public_names_are_sorted_importable_and_documented() -> None:
    assert antiphon_client.__all__ == sorted(antiphon_client.__all__)
    assert [name for name in antiphon_client.__all__ if not (getattr(antiphon_client, name).__doc__ or "").strip()] == []


def test_public_names_are_in_the_reference() -> None:
    words = set(re.findall(r"\w+", PAGE.read_text()))
    assert set(antiphon_client.__all__) - words == set()


def test_the_tree_of_errors_in_the_reference_is_the_one_in_the_code() -> None:
    drawn = re.search(r"^    AntiphonClientError\n(?:    .+\n)+", errors.__doc__ or "", re.MULTILINE)
    assert drawn is not None
    assert f"```\n{textwrap.dedent(drawn[0])}```" in PAGE.read_text()


def test_type_checkers_are_told_that_it_is_typed() -> None:
    assert resources.files(antiphon_client).joinpath("py.typed").is_file()


def test_importing_it_loads_nothing_of_the_server() -> None:
    code = "import sys, antiphon_client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert [name for name in done.stdout.split() if name == "antiphon" or name.startswith(HEAVY)] == []
