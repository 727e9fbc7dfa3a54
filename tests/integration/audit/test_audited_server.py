"""What a real server writes into its audit trail, on SQLite and PostgreSQL, and what the commands and an auditor make of it."""

import contextlib
import hashlib
import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy.engine import URL

from antiphon import cli
from antiphon.storage.records.database import connect, file_url
from antiphon.testing import MockUpstream
from antiphon_client import Client
from tests.integration.databases import fresh_database
from tests.integration.gateway.data_plane import WholeServer, provider
from tests.integration.supervisor.served import eventually

HELLO: Any = [{"role": "user", "content": "hello there"}]
SETTINGS = """
server: {keys: [{name: ann, key: key-of-ann, team: red, user: Ann, roles: [admin]}, {name: bob, key: key-of-bob}]}
prices: [{model: mock-model, input: 500000, output: 1000000}]
audit: {checkpoint_seconds: 1}
"""


class Audited:
    """A server, its database, and the commands about it."""

    def __init__(self, folder: Path, url: URL | None, upstream: MockUpstream) -> None:
        self.folder = folder
        self.database = url or file_url(folder / "data" / "records" / "calls.db")
        records = f'records: {{url: "{url.render_as_string(False).replace("+psycopg", "")}"}}\n' if url else ""
        row = provider("p0", upstream.url)
        self._configuration = f"providers: [{row}]\ndata_dir: {folder / 'data'}\n{SETTINGS}{records}"
        self.servers: list[WholeServer] = []

    def start(self) -> WholeServer:
        self.servers.append(WholeServer(self._configuration, self.folder, 2))
        return self.servers[-1]

    def run(self, *command: str, code: int = 0) -> str:
        """What a command prints."""
        printed, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
            ended = cli.main([*command, "--config", str(self.folder / "antiphon.yaml")])
        assert ended == code, (printed.getvalue(), told.getvalue())
        return printed.getvalue()

    def verify(self, code: int = 0) -> dict[str, Any]:
        """The report of the only chain."""
        (chain,) = json.loads(self.run("audit", "verify", "--json", code=code))["chains"]
        return dict(chain)

    def search(self, *options: str) -> list[dict[str, Any]]:
        return list(json.loads(self.run("audit", "search", "--json", "--limit", "1000", *options)))

    def sql(self, statement: str) -> None:
        engine = connect(self.database)
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()

    @property
    def checkpoints(self) -> Path:
        return self.folder / "data" / "audit" / "checkpoints.jsonl"


@pytest.fixture(params=["sqlite", "postgresql"])
def audited(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Audited]:
    url = fresh_database(request.getfixturevalue("postgres_server")) if request.param == "postgresql" else None
    with MockUpstream() as upstream:
        made = Audited(tmp_path, url, upstream)
        yield made
        for server in made.servers:
            server.stop()


def ask(server: WholeServer, key: str, model: str = "mock-model") -> None:
    server.client(key).chat.completions.create(model=model, messages=HELLO)


def recorded(server: WholeServer, count: int) -> None:
    """Wait until so many calls are in the trail, and a checkpoint was signed."""
    eventually(lambda: list(server.file.parent.rglob("checkpoints.jsonl")))
    headers = {"authorization": "Bearer key-of-ann"}
    url = f"{server.url}/admin/audit?kind=call&limit=1000"
    eventually(lambda: len(httpx2.get(url, headers=headers, timeout=20).json().get("data", ())) >= count)


def control_pid(server: WholeServer) -> int:
    """Of the control plane; 0 while it is on its way back."""
    with contextlib.suppress(httpx2.HTTPError, ValueError, KeyError):
        told = httpx2.get(f"{server.url}/admin/processes", headers={"authorization": "Bearer key-of-ann"}).json()
        return int(next(row["pid"] for row in told["processes"] if row["role"] == "control"))
    return 0


def use(server: WholeServer) -> None:
    """Three calls that succeed, one of a model that is not there, one with a wrong key."""
    for key in ("key-of-ann", "key-of-ann", "key-of-bob"):
        ask(server, key)
    with pytest.raises(openai.NotFoundError):
        ask(server, "key-of-bob", "no-such-model")
    with pytest.raises(openai.AuthenticationError):
        ask(server, "key-of-nobody")


def test_calls_and_acts_are_chained_and_sealed(audited: Audited) -> None:
    server = audited.start()
    use(server)
    recorded(server, 5)
    audited.run("keys", "revoke", "bob")
    configuration = audited.folder / "antiphon.yaml"
    configuration.write_text(configuration.read_text() + "aliases: {other: [mock-model]}\n")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: audited.search("--kind", "settings.take"))
    assert audited.verify()["fault"] is None
    server.stop()
    report = audited.verify()
    assert (report["fault"], report["first"], report["sealed"]) == (None, 1, report["last"] - 1)
    kinds = [row["kind"] for row in audited.search() if row["kind"] != "audit.checkpoint"][::-1]
    assert kinds[0] == "server.start"
    assert [kind for kind in kinds if kind != "call"][1:] == ["keys.revoke", "settings.take", "server.stop"]
    assert sorted(row["facts"]["status"] for row in audited.search("--kind", "call")) == [200, 200, 200, 401, 404]
    (missed,) = audited.search("--status", "404")
    assert (missed["key"], missed["facts"]["model"], missed["facts"]["error"]) == ("bob", "no-such-model", "model_not_found")
    told = audited.search("--user", "Ann")
    assert len(told) == 2
    facts = told[0]["facts"]
    assert (facts["target"], facts["cost"], facts["team"], facts["usage"]["total_tokens"]) == ("p0/mock-model", 3_000_000, "red", 4)
    (revoked,) = audited.search("--kind", "keys.revoke")
    assert (revoked["key"], bool(revoked["actor"])) == ("bob", True)


def test_what_is_changed_in_the_database_is_found_and_named(audited: Audited) -> None:
    server = audited.start()
    use(server)
    recorded(server, 5)
    server.stop()
    last = audited.verify()["last"]
    audited.sql("UPDATE audit_records SET status = 201 WHERE number = 4")
    assert "record 4 (changed)" in audited.run("audit", "verify", code=1)
    audited.sql("UPDATE audit_records SET record = replace(record, '\"number\":3', '\"number\":9') WHERE number = 3")
    assert audited.verify(code=1)["fault"]["number"] == 3
    audited.sql("DELETE FROM audit_records WHERE number = 2")
    fault = audited.verify(code=1)["fault"]
    assert (fault["number"], fault["what"]) == (2, "missing")
    audited.sql("DELETE FROM audit_records")
    audited.sql("UPDATE audit_chains SET number = 0")
    fault = audited.verify(code=1)["fault"]
    assert (fault["number"], fault["what"]) == (1, "missing")
    assert last > 6


def test_what_is_changed_in_the_file_of_checkpoints_is_found_and_named(audited: Audited) -> None:
    server = audited.start()
    use(server)
    recorded(server, 5)
    server.stop()
    lines = audited.checkpoints.read_bytes().splitlines(keepends=True)
    assert len(lines) >= 2
    audited.checkpoints.write_bytes(b"".join(lines[:-1]))
    assert audited.verify(code=1)["fault"]["what"] == "checkpoints_cut"
    audited.checkpoints.write_bytes(b"".join(lines[1:]))
    assert audited.verify(code=1)["fault"]["what"] == "checkpoints_cut"
    audited.checkpoints.write_bytes(b"".join(lines).replace(b'"kind":"checkpoint"', b'"kind":"cut"', 1))
    assert audited.verify(code=1)["fault"]["what"] == "bad_signature"
    audited.checkpoints.unlink()
    assert audited.verify(code=1)["fault"]["what"] == "checkpoints_cut"


def test_who_is_erased_is_nobody_any_more_and_the_chain_stays_valid(audited: Audited) -> None:
    server = audited.start()
    use(server)
    recorded(server, 5)
    assert json.loads(audited.run("audit", "erase", "--user", "Ann", "--yes", "--json")) == {"erased": 2}
    assert audited.verify()["erased"] == 2
    ask(server, "key-of-bob")
    recorded(server, 6)
    server.stop()
    assert audited.verify()["fault"] is None
    assert audited.search("--user", "Ann") == []
    exported = audited.run("audit", "export")
    assert '"ann"' not in exported
    assert '"Ann"' not in exported
    used = json.loads(audited.run("usage", "--by", "key,user", "--json"))
    counted = {(row["group"]["key"], row["group"]["user"]): row["calls"] for row in used}
    assert counted == {
        ("", ""): 2,
        ("anonymous", ""): 1,
        ("bob", ""): 3,
    }
    (act,) = audited.search("--kind", "audit.erase")
    assert (act["facts"]["count"], bool(act["actor"])) == (2, True)


def check_elsewhere(exported: str, checkpoints: str, public_key: str) -> int:
    """What docs/how-to/audit.md tells an auditor to do: records of one chain that were verified. Raises AssertionError."""
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    seals = []
    for line in map(json.loads, checkpoints.splitlines()):
        signature = bytes.fromhex(line.pop("signature"))
        key.verify(signature, json.dumps(line, separators=(",", ":"), sort_keys=True).encode())
        seals.append(line)
    rows = [json.loads(line) for line in exported.splitlines()]
    before = hashlib.sha256(f"antiphon audit {rows[0]['chain']}".encode()).digest()
    hashes = {}
    for number, row in enumerate(rows, 1):
        assert row["number"] == number, f"record {number} is missing"
        before = hashlib.sha256(before + row["record"].encode()).digest()
        assert row["hash"] == before.hex(), f"record {number} was changed"
        record = json.loads(row["record"])
        assert record["number"] == number
        for name, personal in row["personal"].items():
            committed = hashlib.sha256(bytes.fromhex(personal["salt"]) + personal["value"].encode()).hexdigest()
            assert record["commitments"][name] == committed, f"the {name} of record {number} was changed"
        hashes[number] = row["hash"]
    for index, seal in enumerate(seals, 1):
        assert seal["index"] == index, f"checkpoint {index} is missing"
        assert hashes.get(seal["number"]) == seal["hash"], f"checkpoint {index} saw another record {seal['number']}"
    return len(rows)


def test_an_auditor_verifies_elsewhere(audited: Audited) -> None:
    server = audited.start()
    use(server)
    recorded(server, 5)
    server.stop()
    exported, checkpoints = audited.run("audit", "export"), audited.checkpoints.read_text()
    key = audited.run("audit", "key").strip()
    assert check_elsewhere(exported, checkpoints, key) == audited.verify()["last"]
    lines = exported.splitlines()
    for wrong in (lines[:2] + lines[3:], lines[:-2], [*lines[:3], lines[3].replace("no-such", "other").replace('"ann"', '"bob"')]):
        with pytest.raises(AssertionError):
            check_elsewhere("\n".join(wrong), checkpoints, key)
    with pytest.raises(InvalidSignature):
        check_elsewhere(exported, checkpoints.replace('"kind":"checkpoint"', '"kind":"cut"', 1), key)
    table = audited.run("audit", "export", "--csv", "--key", "ann").splitlines()
    assert (table[0].split(",")[:5], len(table)) == (["chain", "number", "at", "kind", "key"], 3)


def test_the_api_and_the_client_search_it(audited: Audited) -> None:
    server = audited.start()
    use(server)
    recorded(server, 5)
    with Client(server.url, "key-of-ann") as client:
        first = client.admin.audit(kind="call", limit=2)
        rest = client.admin.audit(kind="call", limit=10, after=f"{first.data[-1].chain}/{first.data[-1].number}")
        assert (len(first.data), first.has_more, len(rest.data), rest.has_more) == (2, True, 3, False)
        (missed,) = client.admin.audit(status=404).data
        assert (missed.key, missed.facts["error"], len(missed.hash)) == ("bob", "model_not_found", 64)
        assert client.admin.audit(since="2999-01-01").data == ()
    headers = {"authorization": "Bearer key-of-ann"}
    for query, param in (("since=yesterday", "since"), ("status=ok", "status"), ("limit=0", "limit"), ("after=x", "after")):
        answer = httpx2.get(f"{server.url}/admin/audit?{query}", headers=headers, timeout=20)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert httpx2.get(f"{server.url}/admin/audit", timeout=20).status_code == 401


def test_a_control_plane_that_is_killed_chains_each_call_once_and_the_chain_stays_valid(audited: Audited) -> None:
    server = audited.start()
    for number in range(60):
        if number % 15 == 7:
            os.kill(eventually(lambda: control_pid(server)), signal.SIGKILL)
        ask(server, "key-of-ann")
    recorded(server, 60)
    server.stop()
    report = audited.verify()
    assert report["fault"] is None
    called = [row["facts"]["id"] for row in audited.search("--kind", "call")]
    assert (len(called), len(set(called))) == (60, 60)
    (row,) = json.loads(audited.run("usage", "--by", "key", "--json"))
    assert row["calls"] == 60
