"""What happens until a server answers, or says why it cannot."""

import os
import socket
from pathlib import Path

MODEL = {"name": "small", "source": "file:/nowhere"}
OTHER = {"name": "other", "source": "file:/nowhere"}
OTHERS = ("control", "coordinator", "compute", "engine-small")
"""All processes that are no workers."""


def test_all_processes_become_ready_and_the_server_says_where_it_is(server):
    server.write(models=[MODEL], embeddings={"enabled": True}, server={"workers": 2})
    server.serving()
    assert server.notice("serving")["text"] == f"http://127.0.0.1:{server.state.port}"
    state = server.state
    assert state.serving
    assert [(p.name, p.role, p.state) for p in state.processes] == [
        ("control", "control", "ready"),
        ("compute", "compute", "ready"),
        ("coordinator", "coordinator", "ready"),
        ("engine-small", "engine", "ready"),
        ("worker-0", "worker", "ready"),
        ("worker-1", "worker", "ready"),
    ]
    assert server.named("engine-small").model == "small"
    assert server.get()["name"] in {"worker-0", "worker-1"}


def test_workers_answer_while_an_engine_still_loads(server):
    server.write(models=[MODEL], behaviour={"engine-small": "never-ready"})
    server.start()
    server.notice("ready", "worker-0")
    server.notice("loading", "engine-small")
    assert server.get()["name"] == "worker-0"
    assert not server.state.serving


def test_settings_larger_than_a_pipe_reach_the_child_and_secrets_travel_in_them_alone(server, monkeypatch):
    monkeypatch.setenv("MINE", "sk-very-secret-of-mine")
    monkeypatch.setenv("THEIRS", "sk-very-secret-0007" + "x" * 60)
    keys = [f"sk-very-secret-{i:04}" + "x" * 60 for i in range(2000)]
    rows = [{"name": f"p-{i}", "url": "http://127.0.0.1:1/v1", "key": key} for i, key in enumerate(keys)]
    callers = [{"name": "me", "key": "sk-very-secret-of-mine"}]
    server.write(providers=rows, server={"keys": callers})
    server.serving()
    about = server.get()
    assert about["spec_bytes"] > 150_000
    assert about["keys"] == keys
    written = list(Path(server.script.parent, "data").rglob("*.snapshot"))
    assert [path.stat().st_mode & 0o777 for path in written] == [0o600]
    assert b"very-secret" not in written[0].read_bytes()
    assert "very-secret" not in str(about["argv"]) + str(about["environment"]) + server.errors.read_text()
    assert "very-secret" not in Path(server.run_dir, "state.json").read_text()


def test_no_process_but_the_workers_is_told_a_secret_at_its_start_or_later(server):
    source = {**MODEL, "source": "https://me:very-secret@127.0.0.1:1/model.gguf"}
    rows = [{"name": "p", "url": "http://127.0.0.1:1/v1", "key": "sk-very-secret"}]
    takes = dict.fromkeys(OTHERS, "takes-updates")
    server.write(providers=rows, models=[source], embeddings={"enabled": True}, server={"workers": 2}, behaviour=takes)
    server.serving()
    told = {name: server.get_from(name)["told"] for name in OTHERS}
    assert "very-secret" in server.get_from("worker-0")["told"]
    assert not [name for name, line in told.items() if "secret" in line]
    server.write(providers=[{**rows[0], "key": "sk-other-secret"}], behaviour=takes)
    server.reload("reloaded")
    later = server.get_from("control")["told"]
    assert later != told["control"]
    assert "secret" not in later


def test_a_busy_port_is_named_with_its_holder_before_anything_is_started(server):
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as holder:
        port = holder.getsockname()[1]
        server.write(server={"port": port})
        server.start()
        assert server.ended() == 1
    (notice,) = server.notices
    assert f"port {port} on 127.0.0.1 is in use by " in notice["text"]
    assert f"(pid {os.getpid()})" in notice["text"]
    assert list(server.tmp.iterdir()) == []


def test_a_worker_that_cannot_start_ends_the_server_with_its_message(server):
    server.write(models=[MODEL], behaviour={"worker-0": "setup-error"})
    server.start()
    assert server.ended() == 1
    server.notice("failed")
    assert server.notices[-1]["text"] == "worker-0 has no legs; give it legs"
    assert list(server.tmp.iterdir()) == []


def test_an_engine_that_cannot_start_leaves_the_rest_serving_and_is_reported(server):
    server.write(models=[MODEL, OTHER], behaviour={"engine-small": "setup-error"})
    server.serving()
    engine = server.named("engine-small")
    assert engine.state == "waiting"
    assert engine.pid == 0
    assert str(engine.error) == "engine-small has no legs; give it legs"
    assert engine.error is not None
    assert engine.error.setup
    assert server.named("engine-other").state == "ready"
    assert server.get()["name"] == "worker-0"


def test_a_process_that_does_not_become_ready_is_killed_and_reported(server):
    server.write(behaviour={"control": "never-ready"}, timings={"ready": 3.0, "ping_every": 0})
    server.serving()
    control = server.named("control")
    assert control.error is not None
    assert control.error.message == "control was not ready within 3 s"


def test_folders_of_killed_servers_are_removed_and_those_of_living_ones_kept(server):
    server.serving()
    killed = server.run_dir
    server.process.kill()
    server.ended()
    server.notices.clear()
    server.serving()
    assert not Path(killed).exists()
    assert server.get()["name"] == "worker-0"
