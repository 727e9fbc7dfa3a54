"""The disk is full and the control plane hangs: calls go on, the log says what is lost and where, and the losses are counted."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.gateway import Gateway, until

CALL = json.dumps({"model": "mock-model", "messages": [{"role": "user", "content": "hi"}]}).encode()

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The folder of the spilled events, on a file system of two pages."""
    folder = tmp_path / "data" / "events"
    folder.mkdir(parents=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"only on machines where file systems may be mounted: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def lost(gateway: Gateway) -> float:
    lines = gateway.get("/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("antiphon_events_lost_total"))


def test_calls_go_on_and_what_is_lost_is_told_and_counted(tmp_path: Path, small_disk: Path) -> None:
    with MockUpstream() as upstream:
        upstream.chat("hello", times=None)
        gateway = Gateway(tmp_path, upstream)
        control = next(row["pid"] for row in gateway.processes() if row["role"] == "control")
        os.kill(control, signal.SIGSTOP)
        try:
            until(lambda: call(gateway) and "are lost" in gateway.server.said)
            assert call(gateway)
        finally:
            os.kill(control, signal.SIGCONT)
        line = gateway.server.wait_said(r"records of calls are lost.*")[0]
        assert f"{small_disk} takes no more: No space left on device" in line
        assert "free some space there" in line
        until(lambda: lost(gateway) > 0)
        assert call(gateway)
        assert gateway.stop() == 0


def call(gateway: Gateway) -> bool:
    """A call, which must succeed."""
    request = urllib.request.Request(f"{gateway.url}/v1/chat/completions", CALL, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bool(answer.status == 200)
