"""Each role is told what it works with, and secrets only the workers."""

import msgspec
import pytest

from antiphon.bootstrap.child_settings import child_model, child_settings
from antiphon.config import (
    EmbeddingSettings,
    KeySettings,
    LocalModelSettings,
    ProviderSettings,
    Secret,
    ServerSettings,
    Settings,
    encode_settings,
)

MODEL = LocalModelSettings(name="small", source="https://me:MARK-model@host/model.gguf", threads=3)
SETTINGS = Settings(
    server=ServerSettings(grace=3, max_body_mb=7, workers=2, keys=(KeySettings("me", Secret("MARK-caller")),)),
    providers=(ProviderSettings("a", "https://a/v1", Secret("MARK-key"), headers={"k": "MARK-header"}, proxy="http://me:MARK@p"),),
    models=(MODEL,),
    embeddings=EmbeddingSettings(name="words"),
    data_dir="/data",
    cache_dir="/cache",
)


@pytest.mark.parametrize("role", ["control", "coordinator", "compute", "engine", "one that is not known yet"])
def test_no_role_but_the_workers_is_told_a_secret(role):
    assert b"MARK" in encode_settings(SETTINGS)
    assert b"MARK" not in encode_settings(child_settings(role, SETTINGS))


def test_workers_are_told_all():
    assert child_settings("worker", SETTINGS) is SETTINGS


def test_the_others_are_told_what_they_work_with():
    told = {role: child_settings(role, SETTINGS) for role in ("control", "coordinator", "compute", "engine")}
    assert {row.server.grace for row in told.values()} == {3}
    assert told["compute"].server.max_body_mb == told["engine"].server.max_body_mb == 7
    assert told["compute"].embeddings.name == "words"
    assert told["coordinator"].data_dir == "/data"
    assert told["engine"].cache_dir == "/cache"


def test_an_engine_is_told_everything_of_its_model_but_where_it_came_from():
    told = child_model(MODEL)
    assert told is not None
    assert told == msgspec.structs.replace(MODEL, source=told.source)
    assert "MARK" not in told.source
