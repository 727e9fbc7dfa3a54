from pathlib import Path

from antiphon.execution.engines._memory import available_memory, own_cgroup, thread_count, usable_cores


def machine(folder: Path, kilobytes: int) -> Path:
    file = folder / "meminfo"
    file.write_text(f"MemTotal: 99999999 kB\nMemAvailable: {kilobytes} kB\n")
    return file


def container(folder: Path, limit: str) -> Path:
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text("3000000\n")
    (folder / "memory.stat").write_text("anon 1\ninactive_file 1000000\n")
    return folder


def test_the_container_limits_what_the_machine_has(tmp_path: Path) -> None:
    assert available_memory(machine(tmp_path, 10_000), container(tmp_path, "5000000")) == 3_000_000


def test_the_machine_limits_an_unlimited_container(tmp_path: Path) -> None:
    assert available_memory(machine(tmp_path, 10_000), container(tmp_path, "max")) == 10_240_000


def test_nothing_is_known_where_nothing_tells(tmp_path: Path) -> None:
    assert available_memory(tmp_path / "none", tmp_path) is None


def test_the_own_group_is_found_below_the_root(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("12:cpu:/old\n0::/user.slice/a.scope\n")
    assert own_cgroup(membership, tmp_path) == tmp_path / "user.slice/a.scope"


def test_a_quota_limits_the_cores(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert usable_cores(tmp_path) == 1


def test_threads_leave_a_core_where_there_are_more_than_two() -> None:
    assert [thread_count(0, cores) for cores in (1, 2, 3, 8)] == [1, 2, 2, 7]
    assert thread_count(5, 2) == 5
