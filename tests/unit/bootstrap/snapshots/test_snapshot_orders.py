import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from antiphon.bootstrap.process import (
    Child,
    ProcessSpec,
    Status,
    Update,
    decode_spec,
    decode_update,
    encode_spec,
    encode_update,
)
from antiphon.bootstrap.snapshots.file import Snapshot, write
from antiphon.config import KeySettings, ProviderSettings, Secret, ServerSettings, Settings
from antiphon.core.errors import SetupError

SETTINGS = Settings(
    server=ServerSettings(keys=(KeySettings(name="me", key=Secret("hidden-caller")),)),
    providers=(ProviderSettings(name="p", url="https://host/v1", key=Secret("hidden-key")),),
    aliases={"in-the-file-alone": ("x",)},
)


@pytest.fixture
def spec(tmp_path: Path) -> ProcessSpec:
    sources = tuple(write(tmp_path, Snapshot.of(SETTINGS, epoch)) for epoch in (4, 3))
    return ProcessSpec("worker", "worker-0", 4, "/tmp/x", SETTINGS, 7, sources=sources)


def test_a_worker_is_told_where_its_settings_lie_and_what_is_secret_in_them(spec):
    line = encode_spec(spec)
    assert line.count(b"\n") == 1
    assert b"hidden-key" in line
    assert b"hidden-caller" not in line
    assert b"in-the-file-alone" not in line
    told = decode_spec(line).loaded()
    assert (told.epoch, told.snapshot.epoch, told.snapshot.sha256) == (4, 4, spec.sources[0].sha256)
    assert told.settings.providers == SETTINGS.providers
    assert told.settings.aliases == SETTINGS.aliases
    assert "hidden" not in repr(told)


def test_a_worker_that_finds_its_file_damaged_starts_with_the_one_before(spec):
    os.truncate(spec.sources[0].path, 60)
    assert decode_spec(encode_spec(spec)).loaded().epoch == 3
    os.unlink(spec.sources[1].path)
    with pytest.raises(SetupError, match="SIGHUP"):
        decode_spec(encode_spec(spec)).loaded()


def told(take, update: Update, spec: ProcessSpec) -> list[Status]:
    statuses: list[Status] = []
    child = Child(spec.loaded(), asyncio.Event(), statuses.append)
    child.ready(take)
    child.prepare(update)()
    return statuses


def test_what_is_gone_by_is_acknowledged_with_its_hash(spec):
    taken: list[Update] = []
    update = decode_update(encode_update(Update(5, SETTINGS, spec.sources)).rstrip())
    ready, updated = told(taken.append, update, spec)
    assert ready == Status("ready", takes_updates=True, epoch=4, snapshot=spec.sources[0].sha256)
    assert updated == Status("updated", epoch=5, snapshot=spec.sources[0].sha256)
    assert taken[0].settings.aliases == SETTINGS.aliases


def test_a_running_worker_refuses_a_damaged_file_rather_than_go_back(spec):
    taken: list[Update] = []
    good = msgspec.structs.replace(spec, sources=spec.sources[1:])
    os.truncate(spec.sources[0].path, 60)
    refused = told(taken.append, Update(5, SETTINGS, spec.sources), good)[1]
    assert (refused.state, refused.epoch, refused.setup) == ("refused", 5, True)
    assert "is damaged" in refused.message
    assert taken == []
