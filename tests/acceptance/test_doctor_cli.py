"""``antiphon doctor`` as a user has it: real processes, providers that are scripted."""

import signal
import subprocess

import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.command_line import CommandLine
from tests.acceptance.served import Server


@pytest.fixture
def cli(tmp_path):
    line = CommandLine(tmp_path)
    line.environ["PYTHONUTF8"] = "1"
    return line


@pytest.fixture
def upstream():
    with MockUpstream() as server:
        yield server


def found(diagnosis, check):
    return [(row["status"], row["found"]) for row in diagnosis["findings"] if row["check"] == check]


def test_a_fresh_machine_has_no_error_and_nothing_is_made(cli):
    (cli.folder / "antiphon.yaml").write_text("server: {port: 0}\nmodels: [smollm2-135m-instruct]\n")
    shown = cli.run("doctor")
    assert "antiphon models pull smollm2-135m-instruct" in shown.out
    assert shown.out.splitlines()[-1].startswith("0 error(s)")
    assert sorted(path.name for path in cli.folder.iterdir()) == ["antiphon.yaml"]


def test_errors_have_their_place_and_their_remedy_and_the_rest_is_looked_at(cli):
    (cli.folder / "antiphon.yaml").write_text("server: {prot: 1}\n")
    shown = cli.run("doctor", "--json", code=1)
    assert shown.json["errors"] == 1
    ((status, what),) = found(shown.json, "configuration")
    assert (status, what) == ("error", 'antiphon.yaml:1:10: unknown setting "server.prot"')
    assert {row["check"] for row in shown.json["findings"]} >= {"python", "packages", "clock", "locale"}


def test_providers_are_asked_only_if_wanted_and_keys_are_never_shown(cli, upstream):
    (cli.folder / "antiphon.yaml").write_text(
        "server: {port: 0}\nproviders:\n"
        f"  - {{name: mock, url: '{upstream.url}', key: '${{KEY}}', models: [m]}}\n"
        "  - {name: gone, url: 'http://127.0.0.1:1/v1', models: [n]}\n"
        "embeddings: {enabled: false}\n"
    )
    quiet = cli.run("doctor", KEY="sk-secret")
    assert upstream.requests == []
    shown = cli.run("doctor", "--online", "--json", KEY="sk-secret", code=1)
    (status, what), (gone, _) = found(shown.json, "providers")
    assert (status, what, gone) == ("ok", "mock: GET /models is answered with status 200", "error")
    assert upstream.requests[0].header("authorization") == "Bearer sk-secret"
    assert "sk-secret" not in quiet.out + quiet.err + shown.out + shown.err


def test_a_running_server_is_known_by_its_version_and_state(cli, upstream):
    file = cli.folder / "antiphon.yaml"
    file.write_text(
        f"server: {{port: 0}}\nproviders: [{{name: mock, url: '{upstream.url}', models: [m]}}]\nembeddings: {{enabled: false}}\n"
    )
    with cli.start(["serve"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            server = Server(process)
            url = server.wait_said(r"serving .* on (http://127\.0\.0\.1:(\d+))/v1")
            diagnosis = cli.run("doctor", "--url", url[1], "--json", ANTIPHON_SERVER__PORT=url[2]).json
            ((status, what),) = found(diagnosis, "port")
            assert (status, f"(pid {process.pid}); all 2 processes are ready" in what) == ("ok", True)
            ((status, what),) = found(diagnosis, "server")
            assert (status, "is ready: control" in what) == ("ok", True)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
