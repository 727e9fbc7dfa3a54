"""Databases of the records that cannot be used."""

import importlib.util
from collections.abc import Iterator
from urllib.parse import urlsplit

from antiphon.config.network import Report
from antiphon.config.settings import Settings
from antiphon.core.errors import ConfigError

_SCHEMES = ("postgresql", "postgres")
_HINT = "write postgresql://user:password@host/name, or leave it out for a SQLite file in data_dir"


def wrong(settings: Settings, report: Report) -> Iterator[ConfigError]:
    """Everything that is wrong. The URL, which may hold a password, is not shown."""
    url = settings.records.url.reveal()
    if not url:
        return
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        scheme = ""
    if scheme not in _SCHEMES:
        yield report("records.url", "records.url is not the URL of a PostgreSQL database", _HINT)
    elif importlib.util.find_spec("psycopg") is None:
        yield report("records.url", "records.url needs psycopg, which is not installed", 'pip install "antiphon[postgres]"')
