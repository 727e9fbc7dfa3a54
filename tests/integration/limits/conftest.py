"""Whole servers with limits, of one worker and of several."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.testing import MockUpstream
from tests.integration.gateway.data_plane import WholeServer, provider

Serve = Callable[..., WholeServer]


@pytest.fixture(params=[1, 4], ids=["1-worker", "4-workers"])
def workers(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture
def serve(tmp_path: Path, workers: int, upstream: MockUpstream) -> Iterator[Serve]:
    """Starts ``antiphon serve`` in front of the mock upstream: ``serve("limits: ...")``."""
    servers: list[WholeServer] = []

    def begin(more: str) -> WholeServer:
        row = provider("p0", upstream.url)
        servers.append(WholeServer(f"providers: [{row}]\ndata_dir: {tmp_path / 'data'}\n{more}", tmp_path, workers))
        return servers[-1]

    yield begin
    for server in servers:
        server.stop()
