"""Keys from a file: made, revoked at every worker without a reload, still revoked after kills and restarts, restored."""

import http.client
import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.command_line import CommandLine, Finished
from tests.acceptance.gateway import PATIENCE, Gateway, until

CONNECTIONS = 40
"""Enough that each of four workers has some of them."""

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


class Caller:
    """Somebody with a key, and with connections to all workers."""

    def __init__(self, stack: ExitStack, gateway: Gateway, key: str) -> None:
        address = gateway.url.removeprefix("http://")
        self._connections = [http.client.HTTPConnection(address, timeout=PATIENCE) for _ in range(CONNECTIONS)]
        self._key = key
        for connection in self._connections:
            stack.callback(connection.close)

    def statuses(self) -> set[int]:
        return {self._ask(connection) for connection in self._connections}

    def _ask(self, connection: http.client.HTTPConnection) -> int:
        body = json.dumps({"model": "mock-model", "messages": [{"role": "user", "content": "hi"}]})
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        try:
            connection.request("POST", "/v1/chat/completions", body, headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException):  # its worker was killed: the next time it has another
            connection.close()
            return 0
        response.read()
        return response.status


def keys(folder: Path, *arguments: str, code: int = 0) -> Finished:
    return CommandLine(folder).run("keys", *arguments, code=code)


def changed(folder: Path, *arguments: str) -> dict[str, Any]:
    return dict(keys(folder, *arguments, "--json").json)


def fresh_key(folder: Path, name: str) -> str:
    """A key whose line has been added to the file."""
    made = changed(folder, "new", name, "roles=platform")
    with (folder / "keys").open("a") as file:
        file.write(f"{made['line']}\n")
    return str(made["key"])


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def start(folder: Path, upstream: MockUpstream, workers: int) -> Gateway:
    own = [{"name": "own", "key": "${OWN_KEY}", "roles": ["platform"]}]
    os.environ["OWN_KEY"] = "sk-own"
    try:
        return Gateway(folder, upstream, workers=workers, keys_file="keys", keys=own)
    finally:
        del os.environ["OWN_KEY"]


def workers_of(gateway: Gateway, key: str) -> list[dict[str, Any]]:
    request = urllib.request.Request(f"{gateway.url}/admin/processes", headers={"authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return [row for row in json.load(answer)["processes"] if row["role"] == "worker"]


@pytest.mark.parametrize("workers", [1, 4])
def test_a_revoked_key_is_refused_by_every_worker_within_two_seconds_and_for_good(tmp_path, upstream, stack, workers):
    alice, bob = fresh_key(tmp_path, "alice"), fresh_key(tmp_path, "bob")
    gateway = start(tmp_path, upstream, workers)
    callers = [Caller(stack, gateway, key) for key in (alice, bob, "sk-own")]
    assert [caller.statuses() for caller in callers] == [{200}] * 3
    assert Caller(stack, gateway, "ap-nobody").statuses() == {401}

    told = changed(tmp_path, "revoke", "alice")
    assert callers[0].statuses() == {401}
    assert told["workers"] == workers
    assert told["seconds"] < 2
    assert [caller.statuses() for caller in callers[1:]] == [{200}] * 2

    victim = workers_of(gateway, bob)[0]
    os.kill(victim["pid"], signal.SIGKILL)
    until(lambda: all(row["state"] == "ready" and row["pid"] != victim["pid"] for row in workers_of(gateway, bob)))
    assert {row["snapshot"] for row in workers_of(gateway, bob)} == {victim["snapshot"]}
    assert callers[0].statuses() <= {401, 0}
    assert callers[0].statuses() == {401}

    fresh = fresh_key(tmp_path, "carol")
    gateway.process.send_signal(signal.SIGHUP)
    carol = Caller(stack, gateway, fresh)
    until(lambda: carol.statuses() == {200})
    assert callers[0].statuses() == {401}
    gateway.server.wait_said("keys that are configured stay revoked: alice")
    assert len({row["snapshot"] for row in workers_of(gateway, bob)} - {victim["snapshot"]}) == 1

    assert changed(tmp_path, "restore", "alice")["workers"] == workers
    assert callers[0].statuses() == {200}
    assert gateway.stop() == 0
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(key.encode() in held for key in (alice, bob, fresh, "sk-own"))


def test_a_key_that_was_revoked_while_no_server_ran_is_refused_from_the_start(tmp_path, upstream, stack):
    alice = fresh_key(tmp_path, "alice")
    gateway = start(tmp_path, upstream, 1)
    assert gateway.stop() == 0
    assert "no worker" in keys(tmp_path, "revoke", "alice").out
    gateway = start(tmp_path, upstream, 1)
    gateway.server.wait_said("keys that are configured stay revoked: alice")
    caller = Caller(stack, gateway, alice)
    assert caller.statuses() == {401}
    assert gateway.stop() == 0


def test_a_damaged_snapshot_stops_no_worker_that_runs_and_is_written_again_before_one_starts(tmp_path, upstream, stack):
    alice = fresh_key(tmp_path, "alice")
    gateway = start(tmp_path, upstream, 1)
    (snapshot,) = gateway.data.rglob("*.snapshot")
    os.truncate(snapshot, 100)
    caller = Caller(stack, gateway, alice)
    assert caller.statuses() == {200}
    os.kill(workers_of(gateway, alice)[0]["pid"], signal.SIGKILL)
    gateway.server.wait_said(r"snapshot .* is damaged; it is written again")
    until(lambda: caller.statuses() == {200})
    assert gateway.stop() == 0


def test_keys_are_listed_by_name_and_place_and_never_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("OWN_KEY", "sk-own")
    alice = fresh_key(tmp_path, "alice")
    (tmp_path / "antiphon.yaml").write_text(
        "server: {keys_file: keys, keys: [{name: own, key: '${OWN_KEY}'}]}\nmodels: []\ndata_dir: data\n"
    )
    changed(tmp_path, "revoke", "own")
    listed = keys(tmp_path, "list").out
    assert re.search(r"^own +[0-9a-f]{12}  server\.keys  revoked$", listed, re.MULTILINE)
    assert re.search(r"^alice +[0-9a-f]{12}  .*keys:1$", listed, re.MULTILINE)
    assert alice not in listed
    assert "sk-own" not in listed


def test_a_key_goes_by_its_digest_too_and_without_the_secrets_of_the_configuration(tmp_path):
    fresh_key(tmp_path, "alice")
    digest = (tmp_path / "keys").read_text().split()[1]
    (tmp_path / "antiphon.yaml").write_text(
        "server: {keys_file: keys, keys: [{name: own, key: '${NOT_SET}'}]}\nmodels: []\ndata_dir: data\n"
    )
    assert changed(tmp_path, "revoke", digest[:20])["name"] == "alice"
    assert changed(tmp_path, "revoke", "sha256:" + "5" * 64)["sha256"] == "5" * 64
    assert "NOT_SET" in keys(tmp_path, "revoke", "sha256:66666666", code=2).err


def test_a_revoked_key_that_is_configured_no_longer_is_listed_and_restored_by_what_is_shown_of_it(tmp_path):
    (tmp_path / "antiphon.yaml").write_text("server: {keys_file: keys}\nmodels: []\ndata_dir: data\n")
    fresh_key(tmp_path, "alice")
    fresh_key(tmp_path, "bob")
    for name in ("alice", "bob"):
        changed(tmp_path, "revoke", name)
    changed(tmp_path, "revoke", "sha256:" + "5" * 64)
    (tmp_path / "keys").write_text("")
    assert re.search(r"^alice  [0-9a-f]{12}  configured no longer  revoked$", keys(tmp_path, "list").out, re.MULTILINE)
    listed = keys(tmp_path, "list", "--json").json
    assert [(row["name"], row["origin"], row["revoked"]) for row in listed] == [(name, "", True) for name in ("alice", "bob", "")]

    assert changed(tmp_path, "restore", f"sha256:{listed[0]['sha256'][:12]}")["name"] == "alice"
    assert changed(tmp_path, "restore", "bob")["sha256"] == listed[1]["sha256"]
    assert changed(tmp_path, "restore", "sha256:55555555")["sha256"] == "5" * 64
    assert "no keys" in keys(tmp_path, "list").err
    assert "no key" in keys(tmp_path, "restore", "alice", code=1).err


def test_a_name_means_the_key_that_has_it_now_and_old_ones_of_that_name_go_by_their_digests(tmp_path):
    (tmp_path / "antiphon.yaml").write_text("server: {keys_file: keys}\nmodels: []\ndata_dir: data\n")
    digests = []
    for _ in range(3):
        (tmp_path / "keys").write_text("")
        fresh_key(tmp_path, "alice")
        digests.append(changed(tmp_path, "revoke", "alice")["sha256"])
    assert changed(tmp_path, "restore", "alice")["sha256"] == digests[2]
    (tmp_path / "keys").write_text("")
    assert "give the sha256:HEX" in keys(tmp_path, "restore", "alice", code=1).err
    assert changed(tmp_path, "restore", f"sha256:{digests[0]}")["sha256"] == digests[0]
    assert changed(tmp_path, "restore", "alice")["sha256"] == digests[1]


@pytest.mark.parametrize("name", ["", "a b", "#a", "x" * 257])
def test_a_name_that_cannot_stand_in_the_file_is_refused(tmp_path, name):
    assert "without blanks" in keys(tmp_path, "new", name, code=1).err
