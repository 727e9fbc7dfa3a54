"""Settings, catalogue and store together, as ``antiphon serve`` and ``antiphon models`` use them."""

import pytest

from antiphon.bootstrap import models as local
from antiphon.config import LocalModelSettings, Settings
from antiphon.core.errors import ConfigError, ModelNotFound
from antiphon.registry.catalogue import CatalogueEntry
from antiphon.registry.progress import silent
from tests.integration.registry.file_server import Behaviour


@pytest.fixture
def server(secure_server, trusted):
    """Settings name https: addresses."""
    return secure_server


@pytest.fixture
def source(server, model):
    server.files["/tiny.gguf"] = model
    return f"{server.url}/tiny.gguf"


@pytest.fixture
def settings(tmp_path, source):
    configured = LocalModelSettings(name="tiny", source=source, threads=1)
    return Settings(models=(configured,), data_dir=str(tmp_path / "data"), cache_dir=str(tmp_path / "cache"))


def test_everything_that_is_missing_is_fetched_once(settings, source, server, model):
    local.add(settings, CatalogueEntry(name="second", source=source), silent, pull=False)
    paths = local.ensure(settings)
    assert sorted(paths) == ["second", "tiny"]
    assert all(path.read_bytes() == model for path in paths.values())
    assert local.ensure(settings) == paths
    assert len(server.seen) == 2


def test_an_added_model_has_its_options_and_the_hash_of_its_first_fetch(settings, source, model_hash):
    local.add(settings, CatalogueEntry(name="second", source=source, threads=2, context=512), silent, pull=True)
    second = local.local_models(settings)[1]
    assert (second.name, second.threads, second.context, second.sha256) == ("second", 2, 512, model_hash)


def test_the_configuration_wins_over_an_added_model_of_the_same_name(settings, source):
    local.catalogue(settings).add(CatalogueEntry(name="tiny", source=source, threads=7))
    assert [model.threads for model in local.local_models(settings)] == [1]


@pytest.mark.parametrize("name", ["tiny", "usem3"])
def test_a_name_that_is_in_use_is_refused_before_anything_is_fetched(settings, source, server, name):
    with pytest.raises(ConfigError, match="in use"):
        local.add(settings, CatalogueEntry(name=name, source=source), silent, pull=True)
    assert server.seen == []


def test_values_out_of_range_are_refused(settings, source):
    with pytest.raises(ConfigError, match="threads"):
        local.add(settings, CatalogueEntry(name="second", source=source, threads=-1), silent, pull=False)
    assert local.catalogue(settings).list() == ()


def test_a_model_that_cannot_be_fetched_is_not_added(settings, source, server):
    server.usual = Behaviour(status=404)
    with pytest.raises(Exception, match="404"):
        local.add(settings, CatalogueEntry(name="second", source=source), silent, pull=True)
    assert local.catalogue(settings).list() == ()


def test_names_sources_and_paths_are_resolved(settings, tmp_path, model):
    assert local.resolve(settings, "tiny") == (settings.models[0], None)
    path = local.ensure(settings)["tiny"]
    assert local.resolve(settings, "tiny") == (settings.models[0], path)
    mine = tmp_path / "Mine.gguf"
    mine.write_bytes(model)
    found, where = local.resolve(settings, str(mine))
    assert (found.name, where) == ("mine", None)
    assert local.fetch(settings, found).path == mine
    assert local.resolve(settings, str(mine))[1] == mine


def test_an_unknown_name_is_refused_with_the_known_ones(settings):
    with pytest.raises(ModelNotFound, match="known: tiny") as caught:
        local.resolve(settings, "llama:8b")
    assert "antiphon models add" in caught.value.remedy


def test_what_is_in_the_store_for_another_source_does_not_count(settings, source, server, model):
    local.ensure(settings)
    server.files["/new.gguf"] = model
    moved = LocalModelSettings(name="tiny", source=f"{server.url}/new.gguf")
    changed = Settings(models=(moved,), data_dir=settings.data_dir, cache_dir=settings.cache_dir)
    assert local.resolve(changed, "tiny")[1] is None
    assert local.overview(changed)[0].state == "not fetched"
