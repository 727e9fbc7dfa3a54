"""``antiphon serve`` in front of a scripted server, with nothing on this machine: start, answer, reload, end."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.command_line import CommandLine
from tests.acceptance.served import Server

CONFIG = """\
server: {{port: 0, grace: 2, keys: [{{name: alice, key: "${{ALICE}}"}}]}}
providers:
  - {{name: mock, url: "{url}", models: [{models}], key: "${{UPSTREAM}}"}}
aliases: {{fast: mock-model, near: smollm2-135m-instruct}}
models: [{{name: smollm2-135m-instruct, source: "file:nowhere.gguf"}}]
"""


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path)


@pytest.fixture
def upstream():
    with MockUpstream() as server:
        yield server


@contextmanager
def serving(cli: CommandLine, *args: str) -> Iterator[Server]:
    environ = {**cli.environ, "ALICE": "sk-alice", "UPSTREAM": "sk-upstream"}
    with cli.start(["serve", *args], env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def test_a_server_without_local_models_from_start_to_end(cli, upstream):
    config = cli.folder / "antiphon.yaml"
    config.write_text(CONFIG.format(url=upstream.url, models="mock-model"))
    with serving(cli, "--no-local") as server:
        url = server.wait_said(r"serving mock-model on (http://127\.0\.0\.1:\d+)/v1")[1]
        key = {"ANTIPHON_URL": url, "ANTIPHON_API_KEY": "sk-alice"}
        upstream.chat("Hello").chat("Again")
        assert cli.run("chat", "Hi", **key).out == "Hello\n"
        assert cli.run("chat", "Hi", "-m", "fast", **key).out == "Again\n"
        assert upstream.requests[-1].header("authorization") == "Bearer sk-upstream"
        assert "set ANTIPHON_API_KEY" in cli.run("chat", "Hi", "--url", url, code=1).err

        config.write_text("server: {prot: 1}\n")
        server.process.send_signal(signal.SIGHUP)
        assert 'unknown setting "server.prot"' in server.wait_said(r"the settings stay as they are: .*")[0]
        config.write_text(CONFIG.format(url=upstream.url, models="mock-model, second"))
        server.process.send_signal(signal.SIGHUP)
        server.wait_said("the new settings are in effect")
        upstream.chat("Second")
        assert cli.run("chat", "Hi", "-m", "second", **key).out == "Second\n"

        assert server.end() == 0
        server.wait_said("stopped")
        assert "Traceback" not in server.said
        assert "sk-" not in server.said


def test_a_wish_to_reload_that_comes_before_the_server_is_ready_is_kept(cli, upstream):
    config = cli.folder / "antiphon.yaml"
    config.write_text(CONFIG.format(url=upstream.url, models="mock-model"))
    with serving(cli, "--no-local") as server:
        server.wait_said("configured by antiphon.yaml")
        server.process.send_signal(signal.SIGHUP)
        server.wait_said("the new settings are in effect")
        assert server.end() == 0


def test_a_busy_port_is_told_before_anything_is_fetched(cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        shown = cli.run("serve", "--port", str(port), code=1)
    assert f"{port}" in shown.err
    assert "remedy: " in shown.err
    assert not (cli.folder / "home").exists()


def test_a_model_that_cannot_be_had_is_named_with_what_to_do(cli):
    (cli.folder / "antiphon.yaml").write_text("server: {port: 0}\nmodels: [{name: mine, source: 'file:nowhere.gguf'}]\n")
    for command in ("serve", "config check"):
        shown = cli.run(*command.split(), code=2)
        assert 'error: antiphon.yaml:2:31: model "mine": there is no file or folder' in shown.err
        assert f"{cli.folder}/nowhere.gguf" in shown.err


def test_a_wrong_configuration_is_refused(cli):
    (cli.folder / "my.yaml").write_text("server: {prot: 1}\n")
    shown = cli.run("serve", "--config", "my.yaml", code=2)
    assert 'error: my.yaml:1:10: unknown setting "server.prot"' in shown.err
