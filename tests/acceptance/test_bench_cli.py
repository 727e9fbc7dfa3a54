"""``antiphon bench`` as a user has it."""

import signal
import subprocess

import pytest

from antiphon.testing import Event, Gate, MockUpstream
from tests.acceptance.command_line import CommandLine


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path)


@pytest.fixture
def upstream():
    with MockUpstream(models=("first", "second")) as server:
        yield server


def test_levels_are_measured_one_after_another(cli, upstream):
    upstream.chat("a ", "b", times=None)
    shown = cli.run("bench", "--url", upstream.url, "--concurrency", "1,2", "--requests", "30")
    assert shown.out.startswith(f"first at {upstream.url}, streamed\n")
    assert "1 at once: 30 calls in " in shown.out
    assert "2 at once: 30 calls in " in shown.out
    assert "time to first token" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


def test_for_scripts(cli, upstream):
    upstream.chat("a ", "b", times=None)
    args = ["--concurrency", "2", "--requests", "5", "--no-stream", "-m", "second", "--max-tokens", "3", "--json"]
    report = cli.run("bench", "--url", upstream.url, *args, ANTIPHON_API_KEY="sk-1").json
    assert (report["model"], report["stream"], report["interrupted"]) == ("second", False, False)
    (level,) = report["levels"]
    assert (level["calls"], level["errors"], level["concurrency"]) == (5, {}, 2)
    assert level["ttft"]["p50"] is None
    assert level["whole"]["p50"] > 0
    asked = upstream.requests[-1]
    assert (asked.json["max_tokens"], asked.header("authorization")) == (3, "Bearer sk-1")


def test_nobody_there_and_a_key_that_is_refused(cli, upstream):
    assert "antiphon serve" in cli.run("bench", "--url", "http://127.0.0.1:1", code=1).err
    upstream.error(401, "wrong key")
    shown = cli.run("bench", "--url", upstream.url, code=1)
    assert "error: wrong key (status 401)" in shown.err
    assert "--api-key" in shown.err
    assert "--concurrency" in cli.run("bench", "--concurrency", "none", code=2).err


def test_ctrl_c_shows_what_there_is(cli, upstream):
    upstream.chat("warm").chat("a", times=2)
    upstream.script(Event({"choices": [{"delta": {"content": "b"}}]}), Gate(), times=None)
    args = ["bench", "--url", upstream.url, "--concurrency", "1"]
    process = cli.start(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert upstream.wait_requests(5, 60)  # the list of models, one to warm up, two with an answer, one without
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"1 at once: 2 calls in " in out
    assert b"1 calls were cut" in out
    assert b"interrupted" in err
    assert b"Traceback" not in err
