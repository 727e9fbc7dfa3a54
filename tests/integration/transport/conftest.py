"""A loop in a thread for each test."""

from collections.abc import Iterator

import pytest

from tests.integration.transport.loop_thread import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    with LoopThread() as thread:
        yield thread
