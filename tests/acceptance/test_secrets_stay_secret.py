"""Marked secrets go in, errors of every kind are provoked, and all that comes out is searched for the marks."""

import base64
import contextlib
import json
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from antiphon.testing import Body, Event, Header, MockUpstream, RecordedRequest, Status, Step
from tests.acceptance.command_line import CommandLine
from tests.acceptance.served import Server
from tests.integration.transport.certificates import Authority
from tests.integration.transport.forward_proxy import ForwardProxy

VENDOR = "sk-vendor/MARK-1111+x"
HEADER = "MARK-2222-header"
CALLER = "sk-caller-MARK-3333"
WRONG = "sk-wrong-MARK-4444"
PROXY_PASSWORD = "MARK-5555-proxy"
CONFIG = """\
server: {{port: 0, grace: 2, workers: {workers}, keys: [{{name: alice, key: "${{CALLER}}", roles: [admin]}}]}}
providers:
  - {{name: echo, url: "{echo}", models: [echo], key_file: vendor.key, headers: {{api-key: "${{HEADER}}"}}}}
  - {{name: untrusted, url: "{untrusted}", models: [untrusted], key_file: vendor.key}}
  - {{name: refused, url: "http://127.0.0.1:{closed}/v1", models: [refused], key_file: vendor.key}}
  - {{name: unresolved, url: "https://nowhere.invalid/v1", models: [unresolved], key_file: vendor.key, connect_timeout: 3}}
  - {{name: tunnel, url: "https://models.example/v1", models: [tunnel], key_file: vendor.key, proxy: "{proxy}"}}
  - {{name: passing, url: "http://models.example/v1", models: [passing], key_file: vendor.key, proxy: "{proxy}"}}
  - {{name: gone, url: "https://models.example/v1", models: [gone], proxy: "http://me:{password}@127.0.0.1:{closed}"}}
aliases: {{chain: [refused, echo]}}
"""
MODELS = ("echo", "untrusted", "refused", "unresolved", "tunnel", "passing", "gone", "chain", "nothing")
PAGES = (
    "/",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/redoc",
    "/admin/status",
    "/admin/state",
    "/ready",
    "/health",
    "/v1/models",
    "/x",
)


def marks() -> list[bytes]:
    """Each secret as it is, and as it looks inside JSON, in base64 and in a URL."""
    plain = [VENDOR, HEADER, CALLER, WRONG, PROXY_PASSWORD]
    spelt = [*plain, *(json.dumps(text)[1:-1] for text in plain), *(json.dumps(text)[1:-1].replace("/", "\\/") for text in plain)]
    coded = [base64.b64encode(text.encode()).decode() for text in (*plain, f"me:{PROXY_PASSWORD}")]
    return [text.encode() for text in (*spelt, *coded)] + [b"MARK-1111", b"MARK-2222", b"MARK-3333", b"MARK-4444", b"MARK-5555"]


def quoting(request: RecordedRequest) -> Sequence[Step]:
    """Answers as the prompt says, with every header of the request in its words."""
    how = json.loads(request.body)["messages"][0]["content"]
    told = {"error": {"message": f"not you: {dict(request.headers)}", "type": "x", "code": "bad", "seen": dict(request.headers)}}
    if how == "inside":
        return (
            Header("content-type", "text/event-stream"),
            Event({"choices": [{"index": 0, "delta": {"content": "a"}}]}),
            Event(told),
        )
    if how == "page":
        return (Status(500), Header("content-type", "text/html"), Body(f"<h1>{dict(request.headers)}</h1>"))
    if how == "slashes":
        return (Status(422), Header("content-type", "application/json"), Body(json.dumps(told).replace("/", "\\/")))
    return (Status(int(how)), Header("content-type", "application/json"), Body(told))


def ask(url: str, key: str, body: object = None) -> bytes:
    """Head and body of whatever is answered."""
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"authorization": f"Bearer {key}", "content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=20) as answer:
            return str(answer.headers).encode() + answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return str(error.headers).encode() + error.read()


@contextlib.contextmanager
def serving(cli: CommandLine, run_folder: Path, proxy: str, **values: object) -> Iterator[Server]:
    (cli.folder / "vendor.key").write_text(VENDOR)
    (cli.folder / "antiphon.yaml").write_text(CONFIG.format(proxy=proxy, password=PROXY_PASSWORD, **values))
    environ = {**cli.environ, "CALLER": CALLER, "HEADER": HEADER, "PYTHONASYNCIODEBUG": "1", "PYTHONDEVMODE": "1"}
    environ["TMPDIR"] = str(run_folder)
    with cli.start(["serve", "--no-local", "-v"], env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


@pytest.fixture
def run_folder() -> Iterator[Path]:
    """Where the processes keep their sockets: the paths of those must be short."""
    with tempfile.TemporaryDirectory(prefix="ap-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("workers", [1, 4])
def test_no_secret_comes_out(tmp_path: Path, run_folder: Path, workers: int) -> None:
    cli, shown = CommandLine(tmp_path), []
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    with (
        MockUpstream() as echo,
        MockUpstream(tls=Authority(tmp_path).server("127.0.0.1")) as untrusted,
        ForwardProxy(f"me:not-{PROXY_PASSWORD}") as forward,
    ):
        echo.script(quoting, times=None)
        proxy = f"http://me:{PROXY_PASSWORD}@127.0.0.1:{forward.port}"
        values = {"workers": workers, "echo": echo.url, "untrusted": untrusted.url, "closed": closed}
        with serving(cli, run_folder, proxy, **values) as server:
            url = server.wait_said(r"serving .* on (http://127\.0\.0\.1:\d+)/v1")[1]
            for how in ("400", "401", "403", "404", "407", "422", "429", "500", "503", "302", "page", "slashes", "inside"):
                for stream in (False, True):
                    call = {"model": "echo", "stream": stream, "messages": [{"role": "user", "content": how}]}
                    shown.append(ask(f"{url}/v1/chat/completions", CALLER, call))
            assert VENDOR in str(echo.requests[-1].header("authorization"))
            assert any(b"not you: " in text and b"***" in text for text in shown)
            for model in MODELS:
                call = {"model": model, "messages": [{"role": "user", "content": "500"}]}
                shown.append(ask(f"{url}/v1/chat/completions", CALLER, call))
            assert len(forward.heads) >= 2
            shown += [ask(url + page, key) for page in PAGES for key in (CALLER, WRONG)]
            first, second = (ask(f"{url}/v1/models", key).partition(b"{")[2] for key in (WRONG, "sk-x"))
            assert first.partition(b"request_id")[0] == second.partition(b"request_id")[0]
            shown.append(
                ask(f"{url}/v1/chat/completions", CALLER, {"model": "echo", "messages": CALLER}).replace(CALLER.encode(), b"")
            )
            server.process.send_signal(signal.SIGHUP)
            server.wait_said("the new settings are in effect")
            shown += [file.read_bytes() for file in run_folder.rglob("*") if file.is_file()]
            server.end()
            shown.append(server.said.encode())
        for command in (("config", "show"), ("config", "show", "--json"), ("config", "check")):
            process = cli.start(
                [*command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**cli.environ, "CALLER": CALLER, "HEADER": HEADER},
            )
            shown.append(process.communicate(timeout=60)[0])
    given = {cli.folder / "vendor.key", cli.folder / "antiphon.yaml"}
    shown += [file.read_bytes() for file in cli.folder.rglob("*") if file.is_file() and file not in given]
    found = {(mark, text[max(0, (at := text.find(mark)) - 200) : at + 80]) for mark in marks() for text in shown if mark in text}
    assert not found
