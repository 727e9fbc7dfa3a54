"""Reads the settings for a command."""

import os
from collections.abc import Mapping
from pathlib import Path

from antiphon.config import Loaded, Settings, load_with_origins
from antiphon.registry.catalogue import known_names


def load_settings(
    file: Path | None, overrides: Mapping[str, str] | None = None, *, secrets: bool = True, model_files: bool = False
) -> Loaded:
    """The settings, in which aliases may lead to models that were added with ``antiphon models add``. Raises ConfigError.

    ``overrides`` are put over the variables of the environment. Without ``secrets`` the keys are left empty: a command that sends
    none should work for users who have none. With ``model_files`` the files of models on this machine are looked at too.
    """
    environ = {**os.environ, **(overrides or {})}

    def known(settings: Settings) -> tuple[str, ...]:
        return known_names(Path(settings.data_dir))

    return load_with_origins(file, environ, known, secrets=secrets, model_files=model_files)
