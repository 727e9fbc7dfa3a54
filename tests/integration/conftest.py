"""Services that several folders of tests ask for."""

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.integration.redis_server import RedisServer


@pytest.fixture(scope="module")
def redis_server(need):
    """A Redis of the module's own."""
    program = need.program("redis-server")
    folder = Path(tempfile.mkdtemp(prefix="ap-"))  # a socket's name must be short
    server = RedisServer(program, folder)
    yield server
    server.kill()
    shutil.rmtree(folder)
