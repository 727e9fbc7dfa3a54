"""``antiphon serve`` with several workers: all share the coordinator's ledger, and find it again after ``kill -9``."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.acceptance.command_line import PATIENCE, CommandLine
from tests.acceptance.served import Server

CONFIG = "server: {{port: 0, grace: 2, workers: {workers}}}\nmodels: []\nembeddings: {{enabled: false}}\n"


@pytest.fixture
def temporary():
    folder = tempfile.mkdtemp(prefix="ap-")  # a socket's path must be short
    yield Path(folder)
    shutil.rmtree(folder)


def ask(folder: Path, process: str, path: str):
    """What a process says on its private socket, or None where it does not answer."""
    found = list(folder.glob(f"*/{process}.sock"))
    try:
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(found[0]))
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    except (OSError, IndexError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def ledgers(folder: Path, epoch: int):
    found = [ask(folder, f"worker-{number}", "/ledger") for number in range(2)]
    return found if all(one and one["connected"] and one["epoch"] >= epoch for one in found) else None


def coordinator_pid(folder: Path) -> int:
    (state,) = folder.glob("*/state.json")
    (row,) = [row for row in json.loads(state.read_text())["processes"] if row["role"] == "coordinator"]
    return row["pid"]


def test_workers_share_a_ledger_that_outlives_its_process(tmp_path, temporary):
    cli = CommandLine(tmp_path)
    (cli.folder / "antiphon.yaml").write_text(CONFIG.format(workers=2))
    environ = {**cli.environ, "TMPDIR": str(temporary)}
    with cli.start(["serve"], env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            server = Server(process)
            server.wait_said(r"http://127\.0\.0\.1:\d+")
            first, second = until(lambda: ledgers(temporary, 1))
            assert first["session"] != second["session"]
            assert ask(temporary, "coordinator", "/stats")["ledger"]["connected"] == 2
            os.kill(coordinator_pid(temporary), signal.SIGKILL)
            boards = [ask(temporary, f"worker-{number}", "/breakers") for number in range(2)]
            assert all(board["opened"] == 0 for board in boards)
            again = until(lambda: ledgers(temporary, first["epoch"] + 1))
            assert [one["session"] for one in again] == [first["session"], second["session"]]
            assert server.end() == 0
            assert "Traceback" not in server.said
        finally:
            process.kill()
