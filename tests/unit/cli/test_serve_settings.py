from antiphon.cli.serve import without_local
from antiphon.config import ProviderModel, ProviderSettings, Settings


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
