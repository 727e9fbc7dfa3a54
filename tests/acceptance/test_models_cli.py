"""``antiphon models`` as a user has it: real processes, a real server with model files."""

import hashlib
import os
import pty
import random
import re
import shlex
import struct
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine
from tests.integration.registry.file_server import Behaviour, FileServer, make_certificate

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "model-sources.md"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 2)
HEAD += text("general.architecture") + struct.pack("<I", 8) + text("llama")
HEAD += text("general.license") + struct.pack("<I", 8) + text("apache-2.0")
MODEL = HEAD + random.Random(7).randbytes(300_000)
HASH = hashlib.sha256(MODEL).hexdigest()


@pytest.fixture(scope="session")
def certificate(need, tmp_path_factory):
    return make_certificate(need.program("openssl"), tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def server(certificate):
    with FileServer(certificate) as running:
        running.files["/tiny.gguf"] = MODEL
        yield running


@pytest.fixture
def source(server):
    return f"{server.url}/tiny.gguf"


@pytest.fixture
def cli(tmp_path, source, certificate):
    (tmp_path / "antiphon.yaml").write_text(f"models: [{{name: tiny, source: '{source}'}}]\ndata_dir: data\ncache_dir: cache\n")
    line = CommandLine(tmp_path)
    line.environ["SSL_CERT_FILE"] = str(certificate)
    return line


def state(cli: CommandLine, name: str) -> str:
    return {row["name"]: row["state"] for row in cli.run("models", "list", "--json").json}.get(name, "unknown")


def test_a_configured_model_from_listing_to_removal(cli, source, tmp_path):
    assert state(cli, "tiny") == "not fetched"
    pulled = cli.run("models", "pull")
    assert pulled.out == f"tiny: ready, 300.1 kB, sha256 {HASH}\n"
    assert "tiny.gguf: 300.1 kB of 300.1 kB (100%)" in pulled.err
    listed = cli.run("models", "list").out.splitlines()
    assert listed[0].split() == ["NAME", "STATE", "SIZE", "ORIGIN", "SOURCE"]
    assert listed[1].split() == ["tiny", "ready", "300.1", "kB", "configured", source]
    shown = cli.run("models", "show", "tiny", "--verify").out
    for expected in (HASH, source, "llama", "apache-2.0", str(tmp_path / "cache"), "every file has its recorded hash"):
        assert expected in shown
    details = cli.run("models", "show", "tiny", "--json").json
    assert (details["overview"]["sha256"], details["gguf"]["architecture"]) == (HASH, "llama")
    assert details["options"]["kv_cache_mb"] == 512
    removed = cli.run("models", "rm", "tiny", "--yes")
    assert removed.out == "tiny: files removed\n"
    assert "stands in the configuration" in removed.err
    assert state(cli, "tiny") == "not fetched"


def test_an_added_model_from_adding_to_removal(cli, source, tmp_path):
    added = cli.run("models", "add", "org/mine", source, "--threads", "2", "--sha256", HASH, "--adapter", "polite=./p.safetensors")
    assert added.out == f"org/mine: added, ready, 300.1 kB, sha256 {HASH}\n"
    options = cli.run("models", "show", "org/mine", "--json").json["options"]
    assert (options["threads"], options["adapters"]) == (2, {"polite": str(tmp_path / "p.safetensors")})
    assert "in the catalogue already" in cli.run("models", "add", "org/mine", source, code=2).err
    assert cli.run("models", "rm", "org/mine", "--keep-files", "--yes", "--json").json == {
        "name": "org/mine",
        "entry": True,
        "files": False,
        "unfinished": False,
        "configured": False,
        "stays": "",
    }
    rows = cli.run("models", "list", "--json").json
    assert [(row["name"], row["origin"]) for row in rows] == [("tiny", "configured"), ("org/mine", "cached")]
    assert cli.run("models", "rm", "org/mine", "--yes").out == "org/mine: files removed\n"
    assert state(cli, "org/mine") == "unknown"


def test_a_model_can_be_added_without_fetching_it(cli, source, server):
    assert cli.run("models", "add", "later", source, "--no-pull").out == "later: added, not fetched\n"
    assert server.seen == []
    assert cli.run("models", "pull", "later", "--json").json[0]["sha256"] == HASH


def test_an_added_model_may_stand_behind_an_alias(cli, source):
    cli.run("models", "add", "mine", source, "--no-pull")
    file = cli.folder / "antiphon.yaml"
    file.write_text(f"{file.read_text()}aliases: {{best: mine}}\n")
    assert state(cli, "mine") == "not fetched"


@pytest.mark.parametrize("given", ["./mine.gguf", "mine.gguf"])
def test_a_relative_path_is_remembered_as_an_absolute_one(cli, tmp_path, given):
    (tmp_path / "mine.gguf").write_bytes(MODEL)
    row = cli.run("models", "add", "mine", given, "--json").json
    assert (row["source"], row["path"]) == (f"file:{tmp_path}/mine.gguf", f"{tmp_path}/mine.gguf")
    removed = cli.run("models", "rm", "mine", "--yes")
    assert (removed.out, removed.err) == ("mine: entry removed\n", f"your own file stays: {tmp_path}/mine.gguf\n")
    assert (tmp_path / "mine.gguf").read_bytes() == MODEL
    assert state(cli, "mine") == "unknown"


def test_without_a_terminal_nothing_is_removed_unasked(cli):
    cli.run("models", "pull")
    for stdin in (b"y\n", None):
        error = cli.run("models", "rm", "tiny", "--json", stdin=stdin, code=1).error
        assert (error["code"], error["remedy"]) == ("setup_error", "add --yes if it shall be removed")
    assert state(cli, "tiny") == "ready"


def test_a_person_is_told_that_a_file_of_his_own_stays(cli, tmp_path):
    (tmp_path / "mine.gguf").write_bytes(MODEL)
    cli.run("models", "add", "mine", "./mine.gguf")
    shown = at_a_terminal(cli, "n")
    assert f"Your own file stays: {tmp_path}/mine.gguf" in shown
    assert "Remove mine from the catalogue?" in shown
    assert state(cli, "mine") == "ready"


def at_a_terminal(cli, answer: str) -> str:
    """What a person sees of the removal of a model called mine, and answers."""
    ours, theirs = pty.openpty()
    try:
        process = cli.start(["models", "rm", "mine"], stdin=theirs, stdout=theirs, stderr=theirs)
        os.write(ours, f"{answer}\n".encode())
        process.wait(60)
        return os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_key_of_a_provider_that_is_not_set_keeps_nobody_from_the_models(cli):
    file = cli.folder / "antiphon.yaml"
    row = "{name: acme, url: 'https://api.acme.example/v1', key: '${ACME_KEY}', headers: {x-a: '${ACME_TEAM}'}, models: [m]}"
    file.write_text(f"{file.read_text()}providers: [{row}]\n")
    assert state(cli, "tiny") == "not fetched"
    assert cli.run("models", "pull", "--json").json[0]["name"] == "tiny"
    assert "ACME_KEY" in cli.run("config", "check", code=2).err


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("pull", "nothing"), "model_not_found", ("known: tiny", "antiphon models add")),
        (("show", "tyny"), "model_not_found", ('no model \\"tyny\\" on', 'did you mean \\"tiny\\"? there are: tiny')),
        (("rm", "nothing"), "model_not_found", ('no model \\"nothing\\" on this machine', '"remedy":"there are: tiny"')),
        (("add", "x", "ftp:host/x.gguf"), "model_source_error", ("known: file, hf, https, pypi",)),
        (("add", "x", "/nowhere/x.gguf"), "model_source_error", ("/nowhere/x.gguf", "correct the path")),
        (("add", "x", "x.gguf"), "model_source_error", ('no file or folder \\"x.gguf\\"', "./model.gguf", "file, hf, https, pypi")),
        (("add", "../x", "/nowhere/x.gguf"), "model_source_error", ("cannot be the name",)),
        (("add", "x", "hf:org/repo#model.pkl"), "model_source_error", ("pickle",)),
        (("add", "tiny", "/nowhere/x.gguf"), "invalid_configuration", ("in use",)),
    ],
)
def test_errors_name_the_thing_and_the_remedy(cli, args, code, words):
    ended = cli.run("models", *args, "--json", code=2 if code == "invalid_configuration" else 1)
    assert ended.error["code"] == code
    assert [word for word in words if word not in ended.err] == []


def test_a_wrong_hash_is_refused_with_both(cli, source):
    ended = cli.run("models", "add", "x", source, "--sha256", "0" * 64, code=1)
    assert "0" * 64 in ended.err
    assert HASH in ended.err
    assert state(cli, "x") == "unknown"


def test_what_a_failed_adding_left_is_removed_and_called_by_its_name(cli, server, source):
    server.files.clear()
    cli.run("models", "add", "mine", source, code=1)
    assert state(cli, "mine") == "unknown"
    refused = cli.run("models", "rm", "mine", code=1).err
    assert "whether to remove what an unfinished fetch of mine has left" in refused
    removed = cli.run("models", "rm", "mine", "--yes")
    assert removed.out == "mine: what an unfinished fetch had left removed\n"
    assert removed.err == "no model mine was added or configured\n"
    assert "there are: tiny" in cli.run("models", "rm", "mine", "--yes", code=1).err


def test_a_damaged_file_is_found_and_mended(cli):
    path = cli.run("models", "pull", "--json").json[0]["folder"] + "/tiny.gguf"
    with open(path, "r+b") as file:
        file.write(b"DAMAGED!")
    assert "is not a GGUF file" in cli.run("models", "show", "tiny").out
    assert "antiphon models pull --force tiny" in cli.run("models", "show", "tiny", "--verify", code=1).err
    cli.run("models", "pull", "--force", "tiny")
    assert "recorded hash" in cli.run("models", "show", "tiny", "--verify").out


def test_a_server_that_fails_at_first_is_asked_again(cli, server):
    server.plan.append(Behaviour(status=503, headers={"Retry-After": "0"}))
    assert "status 503; trying again" in cli.run("models", "pull").err


@pytest.mark.parametrize(("answer", "left"), [("n", "ready"), ("y", "not fetched")])
def test_a_person_is_asked_before_files_are_removed(cli, answer, left):
    cli.run("models", "pull")
    ours, theirs = pty.openpty()
    try:
        process = cli.start(["models", "rm", "tiny"], stdin=theirs, stdout=theirs, stderr=theirs)
        os.write(ours, f"{answer}\n".encode())
        process.wait(60)
        assert b"Remove tiny and its files?" in os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(theirs)
    assert state(cli, "tiny") == left


def test_a_terminal_gets_a_bar(cli):
    ours, theirs = pty.openpty()
    try:
        cli.environ["TERM"] = "xterm"
        process = cli.start(["models", "pull"], stdin=theirs, stdout=theirs, stderr=theirs)
        process.wait(60)
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "━━━" in shown
    assert "300.1/300.1 kB" in shown


def test_the_page_does_what_it_says(cli, source):
    commands = re.findall(r"^antiphon (models .*)$", PAGE.read_text(), re.MULTILINE)
    assert [shlex.split(command)[1] for command in commands] == ["add", "list", "show", "rm"]
    for command in commands:
        sure = ["--yes"] if command.startswith("models rm") else []  # nobody is asked in a test
        cli.run(*shlex.split(command.replace("https://models.example/mine.gguf", source)), *sure)
    assert state(cli, "mine") == "unknown"
    row = re.search(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]  # type: ignore[index]
    (cli.folder / "antiphon.yaml").write_text(row.replace("https://models.example/mine.gguf", source))
    assert state(cli, "mine") == "not fetched"
