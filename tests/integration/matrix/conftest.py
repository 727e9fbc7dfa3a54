"""One data plane in front of one upstream that plays servers of every protocol, and of one that plays the engine's host."""

import json
from collections.abc import Iterator, Mapping

import pytest

from antiphon.bootstrap.process import engine_name, socket_path
from antiphon.execution.providers import PROVIDERS
from antiphon.testing import MockUpstream
from antiphon.testing.matrix.cells import ENGINE, player_of
from tests.integration.gateway.data_plane import DataPlaneProcess

PROTOCOLS = [name for name in PROVIDERS.names() if PROVIDERS.load(name).abilities.chat]


@pytest.fixture(scope="module")
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture(scope="module")
def data_plane(upstream: MockUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataPlaneProcess]:
    """The gateway; its models are called as the protocols of their servers."""
    root = upstream.url.removesuffix("/v1")
    rows = [
        {
            **player_of(protocol).row(root),
            "protocol": protocol,
            "name": protocol,
            "models": [{"name": protocol, "upstream": "mock-model"}],
        }
        for protocol in PROTOCOLS
    ]
    folder = tmp_path_factory.mktemp("matrix")
    (folder / "model.gguf").touch()
    local = {"models": [{"name": ENGINE, "source": f"file:{folder / 'model.gguf'}"}], "embeddings": {"enabled": False}}
    process = DataPlaneProcess(
        f"providers: {json.dumps(rows)}\n", folder, "".join(f"{name}: {json.dumps(row)}\n" for name, row in local.items())
    )
    yield process
    process.stop()


@pytest.fixture(scope="module")
def servers(upstream: MockUpstream, data_plane: DataPlaneProcess) -> Iterator[Mapping[str, MockUpstream]]:
    """Who plays the servers of each protocol."""
    with MockUpstream(socket_path(data_plane.run_dir, engine_name(ENGINE))) as engine:
        yield {**dict.fromkeys(PROTOCOLS, upstream), ENGINE: engine}


@pytest.fixture(scope="module")
def url(data_plane: DataPlaneProcess) -> str:
    """Its address."""
    return data_plane.url
