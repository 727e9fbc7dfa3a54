"""Clients that end with their test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.client.callers import Blocking, Caller, Coroutines
from tests.integration.gateway.conftest import start, upstream, workers

__all__ = ["start", "upstream", "workers"]

Connect = Callable[..., Caller]


@pytest.fixture(params=[Blocking, Coroutines], ids=["blocking", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes a client: ``connect(url, max_retries=0)``."""
    made: list[Caller] = []

    def begin(url: str, *args: Any, **options: Any) -> Caller:
        made.append(request.param(url, *args, **options))
        return made[-1]

    yield begin
    for caller in made:
        caller.close()
