"""The command line as a user has it: real processes, a scripted server."""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from antiphon import __version__
from antiphon.testing import Cut, Event, Gate, MockUpstream, Raw, Wire
from tests.acceptance.command_line import CommandLine


@pytest.fixture
def cli(tmp_path):
    return CommandLine(tmp_path)


@pytest.fixture
def upstream():
    with MockUpstream(models=("first", "second")) as server:
        yield server


class TestVersion:
    def test_for_people_and_for_scripts(self, cli):
        assert __version__ in cli.run("version").out
        assert cli.run("--version").out == f"antiphon {__version__}\n"
        assert cli.run("version", "--json").json["antiphon"] == __version__


class TestUsage:
    def test_without_a_command_there_is_help(self, cli):
        shown = cli.run("--help").out
        assert [
            name for name in ("serve", "chat", "models", "engine", "config", "doctor", "bench", "version") if name not in shown
        ] == []

    def test_an_unknown_command_or_option_is_wrong_usage(self, cli):
        assert "sevre" in cli.run("sevre", code=2).err
        assert "--prot" in cli.run("serve", "--prot", "1", code=2).err
        assert "--port" in cli.run("serve", "--port", "70000", code=2).err


class TestConfig:
    def test_check_without_a_file(self, cli):
        assert cli.run("config", "check").out == "no file: the defaults: valid\n"

    def test_check_of_a_good_file(self, cli):
        (cli.folder / "antiphon.yaml").write_text("server: {port: 9000}\n")
        assert cli.run("config", "check").out == "antiphon.yaml: valid\n"
        assert cli.run("config", "check", "--json").json == {"valid": True, "file": "antiphon.yaml", "warnings": []}

    def test_check_of_a_bad_file(self, cli):
        (cli.folder / "bad.yaml").write_text("server:\n  prot: 9000\n  workers: 0\n")
        shown = cli.run("config", "check", "bad.yaml", code=2)
        assert shown.out == ""
        assert 'error: bad.yaml:2:3: unknown setting "server.prot"\n  remedy: did you mean "server.port"?' in shown.err
        assert "error: bad.yaml:3:12: server.workers must be a whole number from 1 to 256" in shown.err

    def test_check_of_a_bad_file_for_scripts(self, cli):
        (cli.folder / "bad.yaml").write_text("server:\n  prot: 9000\n")
        error = cli.run("config", "check", "bad.yaml", "--json", code=2).error
        assert (error["code"], error["file"], error["line"], error["column"]) == ("invalid_configuration", "bad.yaml", 2, 3)
        assert error["key"] == "server.prot"
        (cli.folder / "bad.yaml").write_text("server:\n  prot: 9000\n  workers: 0\n")
        assert [part["line"] for part in cli.run("config", "check", "bad.yaml", "--json", code=2).error["errors"]] == [2, 3]

    def test_check_warns_of_a_key_that_all_can_read(self, cli):
        file = cli.folder / "antiphon.yaml"
        file.write_text("server: {keys: [{name: a, key: sk-secret}]}\n")
        file.chmod(0o644)
        shown = cli.run("config", "check")
        assert shown.err.count("warning: ") == 2
        assert "chmod 600" in shown.err
        assert "sk-secret" not in shown.err + shown.out

    def test_show_tells_what_is_in_effect_and_why_and_no_secret(self, cli):
        (cli.folder / "antiphon.yaml").write_text(
            "server: {port: 9000, keys: [{name: a, key: '${KEY}'}]}\n"
            "providers: [{name: p, url: 'http://127.0.0.1/v1', key: sk-secret, models: [m], headers: {api-key: sk-secret}}]\n"
        )
        environ = {"KEY": "sk-secret", "ANTIPHON_SERVER__HOST": "localhost"}
        text = cli.run("config", "show", **environ)
        lines = {line.split("=")[0].strip(): line.partition("=")[2].strip() for line in text.out.splitlines()}
        assert lines["server.port"] == "9000    # antiphon.yaml:1"
        assert lines["server.host"] == '"localhost"    # ANTIPHON_SERVER__HOST'
        assert lines["server.workers"] == "1"
        assert lines["providers[0].key"].startswith('"***"')
        as_json = cli.run("config", "show", "--json", **environ)
        (key,) = as_json.json["settings"]["server"]["keys"]
        assert {name: value for name, value in key.items() if value} == {"name": "a", "key": "***"}
        assert as_json.json["origins"]["server.host"] == "ANTIPHON_SERVER__HOST"
        as_yaml = cli.run("config", "show", "--yaml", **environ)
        assert "port: 9000" in as_yaml.out
        for shown in (text, as_json, as_yaml):
            assert "sk-secret" not in shown.out + shown.err

    def test_reference_is_the_page_of_the_documentation(self, cli):
        assert "`first_byte_timeout`" in cli.run("config", "reference").out


class TestChatOnce:
    def test_an_answer_is_streamed_to_the_output(self, cli, upstream):
        upstream.chat("Hel", "lo ", "wörld")
        assert cli.run("chat", "Hi", "--url", upstream.url).out == "Hello wörld\n"
        (request,) = [request for request in upstream.requests if request.method == "POST"]
        assert request.json == {"model": "first", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        assert request.header("authorization") == ""

    def test_every_piece_is_shown_as_it_comes(self, cli, upstream):
        gate = Gate()
        piece = {"choices": [{"index": 0, "delta": {"content": "early"}}]}
        upstream.script(
            Event(piece), gate, Event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}), Event("[DONE]")
        )
        process = cli.start(["chat", "Hi", "--url", upstream.url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        with process:
            assert process.stdout is not None
            assert process.stdout.read(5) == b"early"
            assert not gate.is_open
            gate.open()
            assert process.wait(30) == 0

    def test_all_parameters_reach_the_server(self, cli, upstream):
        upstream.chat("ok")
        args = ["--model", "second", "--system", "Be brief.", "--temperature", "0.5", "--max-tokens", "7", "--seed", "3"]
        args += ["--stop", "X", "--stop", "Y", "--no-stream"]
        cli.run("chat", "Hi", "--url", upstream.url, *args, ANTIPHON_API_KEY="sk-1")
        assert upstream.requests[-1].json == {
            "model": "second",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
            "temperature": 0.5,
            "max_tokens": 7,
            "seed": 3,
            "stop": ["X", "Y"],
        }
        assert upstream.requests[-1].header("authorization") == "Bearer sk-1"

    def test_for_scripts(self, cli, upstream):
        upstream.chat("one", " two", finish="length")
        answer = cli.run("chat", "Hi", "--url", upstream.url, "--json").json
        assert answer["content"] == "one two"
        assert (answer["model"], answer["finish_reason"]) == ("first", "length")
        assert answer["usage"]["completion_tokens"] == 2

    def test_piped_text_follows_the_question_or_is_it(self, cli, upstream):
        assert cli.run("chat", "Why?", "--url", upstream.url, stdin=b"the text\n").out == "Why?\n\nthe text\n"
        assert cli.run("chat", "--url", upstream.url, stdin=b"the question").out == "the question\n"
        assert "no question" in cli.run("chat", "--url", upstream.url, stdin=b" ", code=2).err

    def test_bytes_cut_anywhere_make_the_same_answer(self, cli, upstream):
        upstream.chat("schö", "n 日本", wire=Wire(write_size=1, newline="\r\n"))
        assert cli.run("chat", "Hi", "--url", upstream.url).out == "schön 日本\n"

    def test_the_url_comes_from_the_environment_or_the_configuration(self, cli, upstream):
        upstream.chat("env").chat("conf")
        assert cli.run("chat", "Hi", ANTIPHON_URL=upstream.url).out == "env\n"
        (cli.folder / "antiphon.yaml").write_text(f"server: {{host: 0.0.0.0, port: {upstream.port}}}\n")
        assert cli.run("chat", "Hi").out == "conf\n"


class TestChatTrouble:
    def test_no_server(self, cli):
        shown = cli.run("chat", "Hi", "--url", "http://127.0.0.1:9", code=1)
        assert shown.err == (
            "error: no server answers at http://127.0.0.1:9 (Connection refused)\n"
            '  remedy: start one with "antiphon serve", or name another with --url\n'
        )

    def test_no_server_for_scripts(self, cli):
        error = cli.run("chat", "Hi", "--url", "http://127.0.0.1:9", "--json", code=1).error
        assert error["code"] == "upstream_unreachable"
        assert "antiphon serve" in error["remedy"]

    @pytest.mark.parametrize("url", ["ftp://x", "http://", "http://a:b", "http://a:99999"])
    def test_no_url(self, cli, url):
        assert f'"{url}" is not the URL of a server' in cli.run("chat", "Hi", "--url", url, code=2).err

    def test_the_servers_words_are_passed_on(self, cli, upstream):
        upstream.error(404, 'model "x" is not in the catalogue; known: first', code="model_not_found")
        shown = cli.run("chat", "Hi", "--url", upstream.url, "-m", "x", code=1)
        assert 'model "x" is not in the catalogue; known: first (status 404' in shown.err
        upstream.error(429, "queue full", code="queue_full")
        assert cli.run("chat", "Hi", "--url", upstream.url, "-m", "x", "--json", code=1).error["code"] == "queue_full"

    def test_a_wrong_key(self, cli, upstream):
        upstream.error(401, "the API key is wrong")
        shown = cli.run("chat", "Hi", "--url", upstream.url, "-m", "x", "--api-key", "sk-wrong", code=1)
        assert "set ANTIPHON_API_KEY" in shown.err
        assert "sk-wrong" not in shown.err

    def test_an_answer_that_breaks_off_shows_what_came(self, cli, upstream):
        piece = {"choices": [{"index": 0, "delta": {"content": "half"}}]}
        for end in ((Cut(),), (Cut(reset=True),), ()):
            upstream.script(Event(piece), *end)
            shown = cli.run("chat", "Hi", "--url", upstream.url, "-m", "x", code=1)
            assert "broke off its answer" in shown.err

    def test_an_error_in_the_middle_of_a_stream(self, cli, upstream):
        piece = {"choices": [{"index": 0, "delta": {"content": "half"}}]}
        upstream.script(Event(piece), Event({"error": {"message": "the engine died", "code": "engine_failed"}}))
        shown = cli.run("chat", "Hi", "--url", upstream.url, "-m", "x", code=1)
        assert (shown.out, shown.err) == ("half\n", "error: the engine died\n  remedy: try again; the server's log tells more\n")

    @pytest.mark.parametrize(
        "answer",
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", b"SSH-2.0\r\n"],
    )
    def test_something_else_on_the_port(self, cli, upstream, answer):
        upstream.script(Raw(answer))
        shown = cli.run("chat", "Hi", "--url", upstream.url, "-m", "x", "--no-stream", code=1)
        assert upstream.url.removesuffix("/v1") in shown.err

    def test_ctrl_c_ends_it_and_the_call(self, cli, upstream):
        upstream.script(Event({"choices": [{"index": 0, "delta": {"content": "on"}}]}), Gate())
        process = cli.start(["chat", "Hi", "-m", "x", "--url", upstream.url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        with process:
            assert process.stdout is not None
            assert process.stdout.read(2) == b"on"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        assert upstream.requests[-1].wait_closed()

    def test_a_reader_that_leaves_is_no_error_worth_a_traceback(self, cli, upstream):
        upstream.chat(*["many words "] * 20000)
        process = cli.start(
            ["chat", "Hi", "-m", "x", "--url", upstream.url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(4)
            process.stdout.close()
            assert b"Traceback" not in process.stderr.read()


class TestConversation:
    def talk(self, cli: CommandLine, *lines: str | None, args: tuple[str, ...] = ()) -> str:
        """Talk at a pseudo-terminal, a line after each prompt (None is Ctrl-D); gives back all that was shown."""
        ours, theirs = os.openpty()
        process = cli.start(["chat", *args], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        shown = b""
        with process:
            for line in lines:
                shown += self.read_until(ours, b"> ")
                os.write(ours, b"\x04" if line is None else line.encode() + b"\n")
            shown += self.read_until(ours, None)
            assert process.wait(30) == 0, shown
        os.close(ours)
        return shown.decode().replace("\r\n", "\n")

    def read_until(self, terminal: int, end: bytes | None) -> bytes:
        shown = b""
        while end is None or not shown.endswith(end):
            try:
                data = os.read(terminal, 4096)
            except OSError:  # Linux says EIO once the other side is closed
                return shown
            if not data:
                return shown
            shown += data
        return shown

    def test_what_was_said_is_remembered_and_can_be_continued(self, cli, upstream):
        upstream.chat("Hello Ada.").chat("Ada.").chat("Still Ada.")
        shown = self.talk(cli, "I am Ada.", "Who am I?", "/quit", args=("--url", upstream.url, "--system", "Be kind."))
        assert "Hello Ada." in shown
        shown = cli.run("chat", "--continue", "And now?", "--url", upstream.url)
        assert shown.out == "Still Ada.\n"
        last = upstream.requests[-1].json
        assert [message["content"] for message in last["messages"]] == [
            "Be kind.",
            "I am Ada.",
            "Hello Ada.",
            "Who am I?",
            "Ada.",
            "And now?",
        ]
        (file,) = Path(cli.environ["HOME"]).rglob("conversations/*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(json.loads(file.read_text())["messages"]) == 7

    def test_commands(self, cli, upstream):
        upstream.chat("one").chat("two")
        shown = self.talk(
            cli,
            "/help",
            "/nonsense",
            "/model",
            "/model third",
            "/model second",
            "question",
            "/save talk.md",
            "/new",
            "other",
            None,
            args=("--url", upstream.url),
        )
        assert "/model [NAME]" in shown
        assert "/nonsense is not known" in shown
        assert "* first\n  second" in shown
        assert '"third" is not known' in shown
        assert (cli.folder / "talk.md").read_text() == "# second\n\n**user:** question\n\n**assistant:** one\n"
        asked = [request.json for request in upstream.requests if request.method == "POST"]
        assert [request["model"] for request in asked] == ["second", "second"]
        assert [len(request["messages"]) for request in asked] == [1, 1]

    def test_trouble_does_not_end_it(self, cli, upstream):
        upstream.error(500, "out of order").chat("fine")
        shown = self.talk(cli, "question", "question", "/quit", args=("--url", upstream.url))
        assert "error: out of order" in shown
        assert "fine" in shown
        assert len(upstream.requests[-1].json["messages"]) == 1

    def test_ctrl_c_stops_the_answer_only(self, cli, upstream):
        upstream.script(Event({"choices": [{"index": 0, "delta": {"content": "endless"}}]}), Gate()).chat("next")
        ours, theirs = os.openpty()
        process = cli.start(["chat", "--url", upstream.url], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        with process:
            self.read_until(ours, b"> ")
            os.write(ours, b"first\n")
            self.read_until(ours, b"endless")
            os.kill(process.pid, signal.SIGINT)
            self.read_until(ours, b"> ")
            assert upstream.requests[-1].wait_closed()
            os.write(ours, b"second\n")
            assert b"next" in self.read_until(ours, b"> ")
            os.write(ours, b"/quit\n")
            assert process.wait(30) == 0
        os.close(ours)
        assert [message["content"] for message in upstream.requests[-1].json["messages"]] == ["first", "endless", "second"]

    def test_orders_to_the_terminal_in_an_answer_are_not_obeyed(self, cli, upstream):
        upstream.chat("\x1b]0;title\x07\x1b[2Jtext")
        shown = self.talk(cli, "question", "/quit", args=("--url", upstream.url))
        assert "]0;title[2Jtext" in shown
        assert "\x1b[2J" not in shown
