"""Workers that end with their test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.testing import MockUpstream
from tests.integration.gateway.data_plane import EMPTY, DataPlaneProcess, provider

Start = Callable[..., DataPlaneProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a worker: ``start(first, second, ..., more="aliases: ...")`` with one provider row per mock upstream."""
    running: list[DataPlaneProcess] = []

    def begin(*upstreams: MockUpstream, more: str = "", local: str = EMPTY, **row: object) -> DataPlaneProcess:
        rows = ", ".join(provider(f"p{i}", upstream.url, **row) for i, upstream in enumerate(upstreams))
        running.append(DataPlaneProcess(f"providers: [{rows}]\n{more}", tmp_path, local))
        return running[-1]

    yield begin
    for process in running:
        process.stop()


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture
def second() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock
