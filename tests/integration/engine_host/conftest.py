"""The real model behind an engine host, loaded once for all tests of a run."""

import os
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from antiphon.bootstrap.engine import loader
from antiphon.config import LocalModelSettings
from tests.integration.engine_host.running import RunningHost, running


@pytest.fixture(scope="session")
def engine_cache(tmp_path_factory) -> Path:
    """Where the converted model is kept. ``ANTIPHON_TEST_CACHE`` keeps it from run to run, which saves most of the time."""
    kept = os.environ.get("ANTIPHON_TEST_CACHE")
    return Path(kept) if kept else tmp_path_factory.mktemp("engine-cache")


@pytest.fixture(scope="session")
def model(need) -> LocalModelSettings:
    return LocalModelSettings(
        name="small", source=f"file:{need.model()}", threads=2, context=1024, kv_cache_mb=128, max_running=4, max_waiting=1
    )


@pytest.fixture(scope="session")
def host(model, engine_cache) -> Iterator[RunningHost]:
    path = model.source.removeprefix("file:")
    with running(model.name, loader(model, path, str(engine_cache))) as host:
        yield host


@pytest.fixture
def client(host) -> Iterator[openai.OpenAI]:
    """The official client. The engine is idle when a test begins."""
    host.becomes(lambda stats: stats.running == 0 and stats.open_calls == 0)
    with host.client() as client:
        yield client
