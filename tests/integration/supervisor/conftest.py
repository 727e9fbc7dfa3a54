"""A supervisor for each test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.supervisor.served import Server


@pytest.fixture
def server() -> Iterator[Server]:
    """Not started yet. Its folder has a short name, as the paths of Unix sockets must be short."""
    with tempfile.TemporaryDirectory(prefix="sv-") as folder:
        server = Server(Path(folder))
        yield server
        server.close()
