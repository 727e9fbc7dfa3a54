import sys

import msgspec
import pytest

from antiphon.bootstrap.plan import PlannedProcess, plan
from antiphon.config import EmbeddingSettings, KeySettings, LocalModelSettings, Secret, ServerSettings, Settings
from antiphon.core.errors import SetupError

SMALL = LocalModelSettings(name="small", source="file:/small")
BIG = LocalModelSettings(name="Big/One", source="file:/big", threads=3)
PATHS = {"small": "/cache/small", "Big/One": "/cache/big"}


def settings(**changes) -> Settings:
    base = Settings(server=ServerSettings(workers=2), models=(SMALL, BIG), data_dir="/data", cache_dir="/cache")
    return msgspec.structs.replace(base, **changes)


def planned(name: str, settings: Settings, paths: dict[str, str] | None = None) -> PlannedProcess:
    (process,) = [p for p in plan(settings, paths or PATHS, "/run/a", cores=8) if p.name.startswith(name)]
    return process


def test_each_role_has_its_processes_in_the_order_of_their_start():
    processes = plan(settings(), PATHS, "/run/a")
    assert [(p.role, p.name) for p in processes] == [
        ("control", "control"),
        ("compute", "compute"),
        ("coordinator", "coordinator"),
        ("engine", "engine-small"),
        ("engine", "engine-big-one-c10e644b"),
        ("worker", "worker-0"),
        ("worker", "worker-1"),
    ]
    assert [p.command[1:] for p in processes][-1] == ("-P", "-m", "antiphon.bootstrap.worker")
    assert processes[0].command[0] == sys.executable


def test_workers_need_everything_else_and_nothing_else_needs_anything():
    processes = plan(settings(), PATHS, "/run/a")
    for process in processes:
        assert process.needs == (tuple(p.name for p in processes if p.role != "worker") if process.role == "worker" else ())


def test_what_is_not_configured_is_not_started():
    names = [p.name for p in plan(settings(models=(), embeddings=EmbeddingSettings(enabled=False)), {}, "/run/a")]
    assert names == ["control", "coordinator", "worker-0", "worker-1"]


def test_an_engine_gets_its_model_its_files_and_its_threads():
    small, big = planned("engine-small", settings()), planned("engine-big", settings())
    assert (small.model, small.model_path) == (SMALL, "/cache/small")
    assert (big.model, big.model_path) == (BIG, "/cache/big")
    assert small.environment["OMP_NUM_THREADS"] == "8"
    assert big.environment["OMP_NUM_THREADS"] == "3"


def test_a_model_without_files_is_refused_by_name():
    with pytest.raises(SetupError, match='"Big/One" are not in the cache; fetch them with "antiphon models pull Big/One"'):
        plan(settings(), {"small": "/cache/small"}, "/run/a")


def test_a_folder_too_deep_for_sockets_is_refused():
    with pytest.raises(SetupError, match="TMPDIR"):
        plan(settings(), PATHS, "/" + "x" * 90)


def test_no_secret_is_in_a_command_or_in_the_environment():
    secret = settings(server=ServerSettings(keys=(KeySettings(name="me", key=Secret("sk-hidden")),)))
    for process in plan(secret, PATHS, "/run/a"):
        assert "sk-hidden" not in repr((process.command, process.environment))
        assert "sk-hidden" not in repr(process)


@pytest.mark.parametrize(
    ("changes", "touched"),
    [
        ({}, set()),
        ({"aliases": {"a": ("small",)}}, {"control"}),
        ({"embeddings": EmbeddingSettings(name="other")}, {"control", "compute"}),
        ({"models": (msgspec.structs.replace(SMALL, max_running=1), BIG)}, {"control", "engine-small"}),
        ({"models": (BIG, SMALL)}, {"control"}),
        ({"server": ServerSettings(workers=2, grace=3.0)}, {"control"}),
        ({"server": ServerSettings(workers=2, keys=(KeySettings(name="me", key=Secret("a")),))}, {"control"}),
    ],
)
def test_only_what_a_change_touches_is_replaced(changes, touched):
    old = {p.name: p for p in plan(settings(), PATHS, "/run/a")}
    new = plan(settings(**changes), PATHS, "/run/a")
    assert {p.name for p in new if p.role != "worker" and p.replaces(old[p.name])} == touched


def test_workers_that_stay_need_only_be_told_how_many_they_are():
    one, four = (settings(server=ServerSettings(workers=number)) for number in (1, 4))
    assert planned("worker-0", four).follows(planned("worker-0", one))
    assert planned("worker-0", one).follows(planned("worker-0", four))
    assert not planned("worker-0", settings(data_dir="/other")).follows(planned("worker-0", settings()))


def test_new_files_of_a_model_replace_its_engine():
    assert planned("engine-small", settings(), {**PATHS, "small": "/cache/v2"}).replaces(planned("engine-small", settings()))


def test_a_changed_key_is_a_change():
    def keyed(key: str) -> Settings:
        return settings(server=ServerSettings(keys=(KeySettings(name="me", key=Secret(key)),)))

    assert planned("control", keyed("a")).replaces(planned("control", keyed("b")))
    assert not planned("control", keyed("a")).replaces(planned("control", keyed("a")))
