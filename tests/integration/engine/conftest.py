from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.core.ports import Engine
from antiphon.execution.engines import ENGINES, EngineOptions
from tests.conftest import Need
from tests.integration.engine.asking import DirectModel


@pytest.fixture(scope="session")
def options(need: Need, pytestconfig: pytest.Config) -> EngineOptions:
    """The default model, converted once and kept between runs."""
    cache = pytestconfig.cache.mkdir("engine-models")
    return EngineOptions(model="real", path=str(need.model()), cache_dir=str(cache), threads=2, kv_cache_mb=256, max_running=64)


@pytest.fixture(scope="session")
def engine(options: EngineOptions) -> Iterator[Engine]:
    loaded = ENGINES.load("openvino").load(options)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def converted(engine: Engine, options: EngineOptions) -> Path:
    """The folder of the converted model."""
    return max((Path(options.cache_dir) / "openvino").glob("*/openvino_model.xml"), key=lambda file: file.stat().st_mtime).parent


@pytest.fixture(scope="session")
def direct(converted: Path) -> DirectModel:
    return DirectModel(str(converted / "openvino_model.xml"))
