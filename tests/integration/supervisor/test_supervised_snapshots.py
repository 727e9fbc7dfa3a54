import os
import signal
from pathlib import Path

from tests.integration.supervisor.served import Server, eventually


def snapshots(server: Server) -> list[Path]:
    """The newest first."""
    return sorted(Path(server.script.parent, "data").rglob("*.snapshot"), reverse=True)


def workers(server: Server) -> list[tuple[int, str]]:
    return [(row.epoch, row.snapshot) for row in server.state.processes if row.role == "worker" and row.state == "ready"]


def updating(count: int) -> dict[str, str]:
    return {f"worker-{index}": "takes-updates" for index in range(count)}


def test_all_workers_go_by_one_file_before_and_after_a_reload(server):
    server.write(behaviour=updating(3), server={"workers": 3})
    server.serving()
    first = set(workers(server))
    assert len(workers(server)) == 3
    assert [epoch for epoch, _ in first] == [1]
    server.write(behaviour=updating(3), aliases={"new": ["x"]})
    server.reload("reloaded")
    second = set(workers(server))
    assert [epoch for epoch, _ in second] == [2]
    assert first != second
    assert [path.name.partition("-")[0] for path in snapshots(server)] == ["0000000002", "0000000001"]
    assert snapshots(server)[0].name.endswith(f"-{next(iter(second))[1][:12]}.snapshot")


def test_a_damaged_file_is_written_again_before_a_worker_starts(server):
    server.write(behaviour=updating(1), aliases={"old": ["x"]})
    server.serving()
    server.write(behaviour=updating(1), aliases={"new": ["x"]})
    server.reload("reloaded")
    newest = snapshots(server)[0]
    held = newest.read_bytes()
    os.truncate(newest, 100)
    os.kill(server.named("worker-0").pid, signal.SIGKILL)
    eventually(lambda: server.named("worker-0").restarts == 1 and server.named("worker-0").state == "ready")
    assert server.get()["aliases"] == ["new"]
    assert server.named("worker-0").epoch == 2
    assert "it is written again" in server.errors.read_text()
    assert newest.read_bytes() == held


def test_where_it_cannot_be_written_again_a_worker_starts_with_the_last_good_file_and_a_reload_mends_it(server):
    server.write(behaviour=updating(1), aliases={"old": ["x"]})
    server.serving()
    server.write(behaviour=updating(1), aliases={"new": ["x"]})
    server.reload("reloaded")
    assert server.get()["aliases"] == ["new"]
    newest = snapshots(server)[0]
    os.truncate(newest, 100)
    in_the_way = newest.with_suffix(".new")
    in_the_way.mkdir()
    os.kill(server.named("worker-0").pid, signal.SIGKILL)
    eventually(lambda: server.named("worker-0").restarts == 1 and server.named("worker-0").state == "ready")
    assert server.get()["aliases"] == ["old"]
    assert server.named("worker-0").epoch == 1
    assert server.state.epoch == 2
    assert "is damaged" in server.errors.read_text()
    in_the_way.rmdir()
    server.reload("reloaded")
    assert server.get()["aliases"] == ["new"]
    assert server.named("worker-0").epoch == 3


def test_a_worker_without_any_good_file_says_so_and_a_reload_mends_it(server):
    server.write(behaviour=updating(1))
    server.serving()
    newest = snapshots(server)[0]
    newest.unlink()
    newest.with_suffix(".new").mkdir()
    os.kill(server.named("worker-0").pid, signal.SIGKILL)
    error = eventually(lambda: (found := server.named("worker-0").error) and "No such file" in found.message and found)
    assert error.setup
    assert "SIGHUP" in error.remedy
    newest.with_suffix(".new").rmdir()
    server.reload("reloaded")
    eventually(lambda: server.named("worker-0").state == "ready")
    assert server.get()["name"] == "worker-0"


def test_a_snapshot_that_cannot_be_written_leaves_the_settings_as_they_are(server):
    server.write(behaviour=updating(1), aliases={"old": ["x"]})
    server.serving()
    folder = snapshots(server)[0].parent
    folder.rename(folder.with_name("away"))
    server.write(behaviour=updating(1), aliases={"new": ["x"]})
    assert "data_dir" in server.reload("refused")["text"]
    assert server.get()["aliases"] == ["old"]
    assert server.state.epoch == 1
    folder.with_name("away").rename(folder)
    server.reload("reloaded")
    assert server.get()["aliases"] == ["new"]


def test_a_server_without_a_place_for_snapshots_does_not_start(server):
    Path(server.script.parent, "data").write_text("")
    server.start()
    assert "data_dir" in server.notice("failed")["text"]
    assert server.ended() == 1


def test_epochs_rise_over_restarts(server):
    server.serving()
    server.signal(signal.SIGTERM)
    server.ended()
    server.notices.clear()
    server.serving()
    assert server.state.epoch == 2
    assert workers(server)[0][0] == 2


def test_the_keys_of_a_file_that_is_wrong_are_refused_with_their_line(server):
    keys = Path(server.script.parent, "keys")
    keys.write_text("alice sha256:" + "0" * 64 + "\n")
    server.write(behaviour=updating(1), server={"keys_file": str(keys)})
    server.serving()
    first = workers(server)
    keys.write_text("alice sha256:" + "0" * 64 + "\nbob\n")
    assert f"{keys}:2" in server.reload("refused")["text"]
    assert workers(server) == first
    keys.write_text("alice sha256:" + "1" * 64 + "\n")
    server.reload("reloaded")
    assert workers(server) != first
