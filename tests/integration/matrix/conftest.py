"""One data plane in front of one upstream that plays servers of every protocol."""

import json
from collections.abc import Iterator

import pytest

from antiphon.execution.providers import PROVIDERS
from antiphon.testing import MockUpstream
from antiphon.testing.matrix.cells import player_of
from tests.integration.gateway.data_plane import DataPlaneProcess

PROTOCOLS = [name for name in PROVIDERS.names() if PROVIDERS.load(name).abilities.chat]


@pytest.fixture(scope="module")
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture(scope="module")
def url(upstream: MockUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the gateway; its models are called as the protocols of their servers."""
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
    process = DataPlaneProcess(f"providers: {json.dumps(rows)}\n", tmp_path_factory.mktemp("matrix"))
    yield process.url
    process.stop()
