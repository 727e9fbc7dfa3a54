import json
from typing import Any

import pytest

from antiphon.bootstrap.models import remove
from antiphon.cli.serve import with_local, without_local
from antiphon.config import LocalModelSettings, ProviderModel, ProviderSettings, Settings
from antiphon.core.errors import ModelSourceError
from antiphon.registry.progress import silent


def test_without_local_models_the_aliases_that_led_only_there_are_gone():
    provider = ProviderSettings("p", "http://x", models=(ProviderModel("far"),))
    aliases = {
        "both": ("smollm2-135m-instruct", "far"),
        "near": ("smollm2-135m-instruct",),
        "second": ("near",),
        "third": ("second", "both"),
        "vectors": ("usem3",),
    }
    settings = without_local(Settings(providers=(provider,), aliases=aliases))
    assert settings.models == ()
    assert not settings.embeddings.enabled
    assert settings.aliases == {"both": ("far",), "third": ("both",)}
    assert settings.providers == (provider,)


def test_an_added_model_that_cannot_be_had_is_left_out_with_a_warning(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    entries: list[dict[str, Any]] = [
        {"name": "steps", "source": "https://x/../../y.gguf"},
        {"name": "gone", "source": f"file:{tmp_path}/gone.gguf"},
        {"name": "negative", "source": f"file:{tmp_path}/gone.gguf", "threads": -1},
        {"name": "../up", "source": f"file:{tmp_path}/gone.gguf"},
        {"name": "unread"},
    ]
    (data / "models.json").write_text(json.dumps({"models": entries}))
    aliases = {"chain": ("gone", "usem3"), "only": ("steps",), "beyond": ("only",), "address": ("antiphon/unread",)}
    given = Settings(models=(), aliases=aliases, data_dir=str(data), cache_dir=str(tmp_path / "cache"))
    settings, paths, warnings = with_local(given, silent)
    assert (settings.models, paths) == ((), {})
    assert settings.aliases == {"chain": ("usem3",)}
    assert len(warnings) == len(entries)
    for entry in entries:
        assert any(f'antiphon models rm {entry["name"]}"' in warning for warning in warnings)
        assert remove(given, entry["name"], keep_files=False).entry
    assert with_local(given, silent) == (given, {}, ())


def test_a_configured_model_that_cannot_be_had_stops_the_start(tmp_path):
    model = LocalModelSettings("gone", f"file:{tmp_path}/gone.gguf")
    settings = Settings(models=(model,), data_dir=str(tmp_path), cache_dir=str(tmp_path / "cache"))
    with pytest.raises(ModelSourceError, match=r'^model "gone": there is no file or folder'):
        with_local(settings, silent)
    with pytest.raises(ModelSourceError, match=r'^a\.yaml:7: model "gone": there is no file or folder'):
        with_local(settings, silent, {"models[0].source": "a.yaml:7"})
