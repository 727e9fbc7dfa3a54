"""``antiphon audit`` where there is little, something odd, or another server's chain."""

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from antiphon import cli
from antiphon.bootstrap.kept_audit import opened
from antiphon.config import load
from antiphon.core.audit import Act
from antiphon.governance.audit.checkpoint import public_hex
from antiphon.testing.record_store_contract import SAMPLE_EVENT
from tests.integration.databases import fresh_database
from tests.integration.postgres_server import PostgresServer

KEY = "keys: [{name: ann, key: key-of-ann}]"


class Place:
    """A folder with a configuration, and what commands say of it."""

    def __init__(self, folder: Path, more: str = "") -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.file = folder / "antiphon.yaml"
        self.file.write_text(f"models: []\nembeddings: {{enabled: false}}\ndata_dir: data\nserver: {{{KEY}}}\n{more}")

    def run(self, *command: str, code: int = 0) -> tuple[str, str]:
        printed, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
            ended = cli.main([*command, "--config", str(self.file)])
        assert ended == code, (printed.getvalue(), told.getvalue())
        return printed.getvalue(), told.getvalue()

    def write(self, *, sealed: bool = True) -> None:
        """A call and an act, as a server writes them."""
        with opened(load(self.file), to_write=True) as records:
            records.store.add([SAMPLE_EVENT])
            records.trail.record(Act("keys.revoke", {}, "root", "ann"))
            if sealed:
                records.trail.seal()

    @property
    def checkpoints(self) -> Path:
        return self.folder / "data" / "audit" / "checkpoints.jsonl"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "one")


def test_where_nothing_was_written_there_is_nothing_wrong(place: Place) -> None:
    assert "no audit trail yet" in place.run("audit", "verify")[1]
    assert place.run("audit", "export") == ("", "")
    assert "no such records" in place.run("audit", "search")[1]
    assert "start the server once" in place.run("audit", "key", code=1)[1]
    assert place.run("audit", "erase", "--user", "ann", "--yes")[0].startswith("0 records")


def test_who_is_to_be_erased_is_named_once(place: Place) -> None:
    for options in ((), ("--user", "ann", "--key", "ann")):
        assert "--key NAME or --user NAME" in place.run("audit", "erase", "--yes", *options, code=1)[1]


def test_what_a_person_reads(place: Place) -> None:
    place.write()
    lines = place.run("audit", "search")[0].splitlines()
    assert [line.split()[2:4] for line in lines] == [["audit.checkpoint", "-"], ["keys.revoke", "ann"], ["call", "somebody"]]
    assert place.run("audit", "verify")[0].endswith("records 1 to 3 are as they were written; sealed up to 2\n")


def test_keys_that_are_revoked_and_restored_are_acts_unless_no_trail_is_kept(place: Place, tmp_path: Path) -> None:
    place.run("keys", "revoke", "ann", "--wait", "0")
    place.run("keys", "restore", "ann", "--wait", "0")
    found = json.loads(place.run("audit", "search", "--json", "--key", "ann")[0])
    assert [(row["kind"], row["facts"]) for row in found] == [("keys.restore", {}), ("keys.revoke", {})]
    silent = Place(tmp_path / "silent", "audit: {enabled: false}\n")
    assert silent.run("keys", "revoke", "ann", "--wait", "0")[1] == ""
    assert "no such records" in silent.run("audit", "search")[1]


def test_a_command_whose_act_cannot_be_written_says_so_and_is_done(place: Place) -> None:
    (place.folder / "data").mkdir()
    (place.folder / "data" / "records").write_text("no folder")
    out, told = place.run("keys", "revoke", "ann", "--wait", "0")
    assert "is revoked" in out
    assert "not in the audit trail" in told


def test_files_lie_where_the_settings_say_and_a_key_may_be_given(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    place = Place(tmp_path / "one", "audit: {checkpoints: witness/lines, key_file: key.pem}\n")
    kinds = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (place.folder / "key.pem").write_bytes(key.private_bytes(*kinds))
    (place.folder / "key.pem").chmod(0o400)
    place.write()
    assert place.run("audit", "key")[0].strip() == public_hex(key.public_key())
    assert (place.folder / "witness" / "lines").exists()
    assert json.loads(place.run("audit", "verify", "--json")[0])["valid"]


def test_keys_and_lines_that_are_none_are_told(place: Place, tmp_path: Path) -> None:
    place.write()
    assert "is no Ed25519 key" in place.run("audit", "verify", "--public-key", "xyz", code=1)[1]
    assert "cannot be read" in place.run("audit", "verify", "--checkpoints", str(tmp_path / "none"), code=1)[1]
    place.checkpoints.write_bytes(b"no checkpoint\n" + place.checkpoints.read_bytes())
    assert "line 1 of" in place.run("audit", "verify")[1]
    (place.folder / "data" / "audit" / "signing-key.pem").write_text("no key")
    assert "holds no Ed25519" in place.run("audit", "key", code=1)[1]


def test_after_a_change_of_the_key_the_old_one_is_given(place: Place) -> None:
    place.write()
    old = place.run("audit", "key")[0].strip()
    (place.folder / "data" / "audit" / "signing-key.pem").unlink()
    place.write()
    assert "bad_signature" in place.run("audit", "verify", code=1)[0]
    assert json.loads(place.run("audit", "verify", "--json", "--public-key", old)[0])["valid"]


def test_servers_that_share_a_database_are_verified_together(tmp_path: Path, postgres_server: PostgresServer) -> None:
    url = fresh_database(postgres_server).render_as_string(False).replace("+psycopg", "")
    one, other = (Place(tmp_path / name, f'records: {{url: "{url}"}}\n') for name in ("one", "other"))
    one.write()
    other.write(sealed=False)
    out, told = one.run("audit", "verify")
    assert (len(out.splitlines()), "no checkpoint of" in told) == (2, True)
    other.write()
    files = ("--checkpoints", str(one.checkpoints), "--checkpoints", str(other.checkpoints))
    assert "bad_signature" in one.run("audit", "verify", *files, code=1)[0]
    key = other.run("audit", "key")[0].strip()
    told = one.run("audit", "verify", *files, "--public-key", key)[1]
    assert told == ""
    other.checkpoints.write_bytes(b"")
    assert "checkpoints_cut" in other.run("audit", "verify", code=1)[0]


def test_verifying_leaves_a_damaged_file_as_it_is_and_names_one_that_is_gone(place: Place) -> None:
    place.write()
    file = place.folder / "data" / "records" / "calls.db"
    whole = file.read_bytes()
    for beside in file.parent.glob("calls.db-*"):
        beside.unlink()
    file.write_bytes(b"x" * 4096 + whole[4096:])
    said = "".join(place.run("audit", "verify", code=1))
    assert "is damaged" in said
    assert "left as it is" in said
    assert file.read_bytes()[:4096] == b"x" * 4096
    assert [each.name for each in file.parent.iterdir() if "damaged" in each.name] == []
    file.unlink()
    assert "is not there" in "".join(place.run("audit", "verify", code=1))
    assert not file.exists()


@pytest.mark.parametrize("salts", ["junk", "7", "[]", '"text"', "{", "\\x00"])
def test_salts_that_cannot_be_read_are_a_fault_at_their_record(place: Place, salts: str) -> None:
    place.write()
    with contextlib.closing(sqlite3.connect(place.folder / "data" / "records" / "calls.db")) as connection:
        connection.execute("update audit_records set salts = ? where number = 2", (salts,))
        connection.commit()
    verdict = json.loads(place.run("audit", "verify", "--json", code=1)[0])
    assert verdict["chains"][0]["fault"]["number"] == 2
    assert verdict["chains"][0]["fault"]["what"] == "changed"
