"""The disk is full. Calls go on, the log says what is lost and where, and the losses are counted; keys are revoked all the same."""

import contextlib
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.command_line import CommandLine
from tests.acceptance.gateway import Gateway, until

CALL = json.dumps({"model": "mock-model", "messages": [{"role": "user", "content": "hi"}]}).encode()

pytestmark = pytest.mark.timeout(200)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of this size on a folder that is made."""
    folder.mkdir(parents=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"only on machines where file systems may be mounted: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def small_spill(tmp_path: Path) -> Iterator[Path]:
    """The folder of the spilled events, on a file system of two pages."""
    folder = tmp_path / "data" / "events"
    with small_disk(folder, "8k"):
        yield folder


@pytest.fixture
def small_keys(tmp_path: Path) -> Iterator[Path]:
    """The folder of the revocations, on a file system of 32 pages."""
    folder = tmp_path / "data" / "keys"
    with small_disk(folder, "128k"):
        yield folder


def lost(gateway: Gateway) -> float:
    lines = gateway.get("/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("antiphon_events_lost_total"))


def test_calls_go_on_and_what_is_lost_is_told_and_counted(tmp_path: Path, small_spill: Path) -> None:
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
        assert f"{small_spill} takes no more: No space left on device" in line
        assert "free some space there" in line
        until(lambda: lost(gateway) > 0)
        assert call(gateway)
        assert gateway.stop() == 0


def fill(folder: Path) -> None:
    """Take all room that there is."""
    with (folder / "filler").open("ab", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(512))


def test_keys_are_revoked_on_a_full_disk_too(tmp_path: Path, small_keys: Path) -> None:
    command = CommandLine(tmp_path)
    made = {name: command.run("keys", "new", name, "--json").json for name in ("alice", "bob", "carol")}
    (tmp_path / "callers").write_text("".join(f"{row['line']}\n" for row in made.values()))
    with MockUpstream() as upstream:
        upstream.chat("hello", times=None)
        gateway = Gateway(tmp_path, upstream, keys_file="callers")
        assert all(call(gateway, row["key"]) for row in made.values())
        for name in ("alice", "bob"):
            fill(small_keys)
            assert command.run("keys", "revoke", name, "--json").json["workers"] == 1
            with pytest.raises(urllib.error.HTTPError, match="401"):
                call(gateway, made[name]["key"])
        assert call(gateway, made["carol"]["key"])
        (small_keys / "filler").unlink()
        gateway.process.send_signal(signal.SIGHUP)
        until(lambda: (small_keys / "ballast").stat().st_size == 64 << 10)
        assert gateway.stop() == 0


def test_responses_go_out_that_cannot_be_kept_and_what_was_kept_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "responses"
    with small_disk(folder, "1m"), MockUpstream() as upstream:
        upstream.chat("hello", times=None)
        gateway = Gateway(tmp_path, upstream)
        with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0, timeout=30) as client:
            first: Any = client.responses.create(model="mock-model", input="hi")
            fill(folder)
            lost: Any = client.responses.create(model="mock-model", input="x" * 100_000, previous_response_id=first.id)
            assert (lost.output_text, lost.store) == ("hello", False)
            assert "the store of responses" in gateway.server.wait_said(r".*disk is full.*")[0]
            assert client.responses.retrieve(first.id).to_dict()["store"] is True
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(lost.id)
            (folder / "filler").unlink()
            again = client.responses.create(model="mock-model", input="hi", previous_response_id=first.id)
            assert client.responses.retrieve(again.id).to_dict()["store"] is True
        assert gateway.stop() == 0


def call(gateway: Gateway, key: str = "none") -> bool:
    """A call, which must succeed."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{gateway.url}/v1/chat/completions", CALL, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bool(answer.status == 200)
