"""Data planes that end with their test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.testing import MockUpstream
from tests.integration.gateway.data_plane import EMPTY, DataPlaneProcess, Running, WholeServer, provider

Start = Callable[..., Running]


@pytest.fixture
def workers() -> int:
    """One stands alone; of several there is a whole server. Tests that are to pass with both are parametrized over it."""
    return 1


@pytest.fixture
def start(tmp_path: Path, workers: int) -> Iterator[Start]:
    """Starts a data plane: ``start(first, second, ..., more="aliases: ...")`` with one provider row per mock upstream."""
    running: list[Running] = []

    def begin(*upstreams: MockUpstream, more: str = "", local: str = EMPTY, **row: object) -> Running:
        rows = ", ".join(provider(f"p{i}", upstream.url, **row) for i, upstream in enumerate(upstreams))
        configuration = f"providers: [{rows}]\ndata_dir: {tmp_path / 'data'}\n{more}"
        if workers > 1:
            running.append(WholeServer(configuration, tmp_path, workers))
        else:
            running.append(DataPlaneProcess(configuration, tmp_path, local))
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
