"""``antiphon fidelity`` as a user has it."""

import json
import socket
import subprocess

import pytest

from antiphon.testing import MockUpstream
from antiphon.testing.fidelity import CASES
from tests.acceptance.command_line import CommandLine

PATIENCE = 300.0
"""Seconds for all cases on a loaded machine."""


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path)


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@pytest.mark.timeout(PATIENCE)
def test_our_own_server_is_started_and_passes_every_case(cli):
    process = cli.start(["fidelity", "--self", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        out, err = process.communicate(timeout=PATIENCE)
    report = json.loads(out)
    assert err == b""
    assert list(report) == ["passed", "failed", "cases"]
    assert all(list(case) == ["id", "ok", "why"] for case in report["cases"])
    assert {case["id"]: case["why"] for case in report["cases"] if not case["ok"]} == {}
    assert (report["passed"], report["failed"]) == (len(CASES), 0)
    assert process.returncode == 0


def test_some_cases_pass_and_the_exit_code_says_so(cli):
    shown = cli.run("fidelity", "--self", "--case", "stream-t*", "--case", "whole-text")
    assert "   3 of   3  Streamed text" in shown.out
    assert "   4 of   4  altogether" in shown.out
    assert "playing 4 cases against http://127.0.0.1:" in shown.err


def test_a_miss_is_told_with_its_reason_and_exit_code_1(cli, port):
    # the scripted server itself is a gateway that mends nothing
    args = ["--gateway", f"http://127.0.0.1:{port}", "--mock-port", str(port), "--case", "usage-twice", "--case", "stream-text"]
    shown = cli.run("fidelity", *args, code=1)
    assert "   1 of   1  Streamed text" in shown.out
    assert "usage-twice: the usage should be told by the last of 6 events alone" in shown.out
    report = cli.run("fidelity", *args, "--json", code=1).json
    assert (report["passed"], report["failed"]) == (1, 1)


def test_what_cannot_be_played_ends_with_code_2_and_a_remedy(cli, port):
    with MockUpstream() as other:
        elsewhere = cli.run("fidelity", "--gateway", other.url, "--mock-port", str(port), code=2)
        assert f'does not send the model "fidelity-openai" to port {port}' in elsewhere.err
        assert "--print-config" in elsewhere.err
        other.error(401, "no such key")
        assert "--key" in cli.run("fidelity", "--gateway", other.url, "--mock-port", str(port), code=2).err
        busy = cli.run("fidelity", "--gateway", other.url, "--mock-port", str(other.port), "--json", code=2)
        assert str(other.port) in busy.error["message"]
    for args, told in [
        ((), "--self"),
        (("--gateway", "http://127.0.0.1:1"), "start it"),
        (("--gateway", "nonsense"), "https://host/path"),
        (("--self", "--gateway", "http://127.0.0.1:1"), "one of them"),
        (("--self", "--case", "nonsense"), "--list"),
        (("--self", "--header", "nonsense"), "name: value"),
        (("--print-config", "nonsense"), "litellm"),
    ]:
        assert told in cli.run("fidelity", *args, "--mock-port", str(port), code=2).err


def test_cases_are_listed(cli):
    shown = cli.run("fidelity", "--list", "--case", "retry-*").out
    assert shown.splitlines()[0] == "When to try again (5)"
    assert "  retry-seconds: " in shown
    listed = cli.run("fidelity", "--list", "--json").json
    assert [case["id"] for case in listed] == [case.id for case in CASES]


def test_a_configuration_is_printed_with_what_to_type(cli):
    shown = cli.run("fidelity", "--print-config", "litellm", "--mock-port", "9107")
    assert "http://127.0.0.1:9107/v1" in shown.out
    assert "antiphon fidelity --gateway http://127.0.0.1:4000 --mock-port 9107" in shown.err
