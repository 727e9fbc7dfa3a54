"""Does what docs/how-to/add-a-provider.md says, word for word, with a provider that speaks OpenAI on this machine."""

import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openai
import pytest

from antiphon.testing import MockUpstream

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "add-a-provider.md").read_text()
ROW, PROTOCOL, FLAGS, CHAIN = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.search(r"^```\n(antiphon .*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1].splitlines()  # type: ignore[index]
CHECK, SERVE, CHAT = (shlex.split(line)[1:] for line in COMMANDS)
KEY = "key-of-acme"
PATIENCE = 60.0


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder as a reader of the page has it, with nothing of this machine's own configuration."""
    monkeypatch.setenv("ACME_API_KEY", KEY)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    for name in [name for name in os.environ if name.startswith("ANTIPHON_")]:
        monkeypatch.delenv(name)
    (tmp_path / "other.key").write_text("key-of-other\n")
    return tmp_path


@pytest.fixture
def acme() -> Iterator[MockUpstream]:
    with MockUpstream() as upstream:
        yield upstream


@pytest.fixture
def other() -> Iterator[MockUpstream]:
    with MockUpstream() as upstream:
        yield upstream


def write(folder: Path, text: str, **upstreams: MockUpstream) -> None:
    """``antiphon.yaml`` as the page has it, but for the addresses."""
    for name, upstream in upstreams.items():
        text = text.replace(f"https://api.{name}.example/v1", upstream.url)
    (folder / "antiphon.yaml").write_text(text)


def run(folder: Path, arguments: list[str], *, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "antiphon", *arguments],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The server as the page starts it, on a free port; gives its address."""
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "antiphon", *SERVE, "--port", "0", "--no-local"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield _address(folder / "log.txt", process)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _address(log: Path, process: "subprocess.Popen[bytes]") -> str:
    tick = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if found := re.search(r"serving .* on (http://\S+)/v1", log.read_text()):
            return found[1]
        assert process.poll() is None, log.read_text()
        tick.wait(0.05)
    raise AssertionError(log.read_text())


def client(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)


def ask(address: str, model: str, **parameters: object) -> str:
    messages = [{"role": "user", "content": "Are you there?"}]
    with client(address) as caller:
        answer = caller.chat.completions.create(model=model, messages=messages, **parameters)
    return answer.choices[0].message.content or ""


def test_the_rows_of_other_protocols_are_valid(folder, monkeypatch) -> None:
    for name in re.findall(r"\$\{(\w+)\}", PROTOCOL):
        monkeypatch.setenv(name, KEY)
    write(folder, PROTOCOL)
    run(folder, CHECK)


def test_one_row_adds_a_provider(folder, acme):
    write(folder, ROW, acme=acme)
    acme.chat("Yes, ", "I am.")
    assert "valid" in run(folder, CHECK)
    with serving(folder) as address:
        with client(address) as caller:
            assert [(model.id, model.owned_by) for model in caller.models.list()] == [("acme-large", "acme")]
        assert "Yes, I am." in run(folder, [*CHAT, "--url", address])
    request = acme.requests[-1]
    assert request.header("authorization") == f"Bearer {KEY}"
    assert request.json["model"] == "acme-large"
    assert KEY not in (folder / "log.txt").read_text()


def test_a_protocol_is_named(folder, monkeypatch):
    for name in re.findall(r"\$\{(\w+)\}", PROTOCOL):
        monkeypatch.setenv(name, "sk-1")
    write(folder, PROTOCOL)
    assert "valid" in run(folder, CHECK)
    write(folder, PROTOCOL.replace("protocol: anthropic", "protocol: esperanto"))
    shown = run(folder, CHECK, code=2)
    assert 'antiphon.yaml:2:33: provider "anthropic": protocol "esperanto" is not known' in shown
    assert "known: anthropic, " in shown


def test_what_a_flag_denies_is_refused_by_name_before_it_leaves(folder, acme):
    write(folder, FLAGS, acme=acme)
    with serving(folder) as address:
        with pytest.raises(openai.BadRequestError, match="logprobs"):
            ask(address, "acme-large", logprobs=True)
        assert acme.requests == []
        assert ask(address, "acme-large") == "Are you there?"


def test_a_chain_falls_back(folder, acme, other):
    write(folder, CHAIN, acme=acme, other=other)
    acme.error(503, "overloaded")
    other.chat("Here instead.")
    with serving(folder) as address:
        assert ask(address, "large") == "Here instead."
    assert len(acme.requests) == 1
    assert other.requests[0].json["model"] == "other-large"
    assert other.requests[0].header("authorization") == "Bearer key-of-other"
