"""What docs/how-to/ollama.md shows, done as it stands there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ollama
import pytest

from antiphon import config
from antiphon.testing import Body, MockUpstream
from tests.integration.gateway.data_plane import Running
from tests.integration.gateway.ollama_lines import last, message

Start = Callable[..., Running]
PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "ollama.md").read_text()


def shown(language: str) -> str:
    (code,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return code


def test_the_call_with_ollamas_client(start: Start, upstream: MockUpstream, capsys: pytest.CaptureFixture[str]) -> None:
    upstream.chat("Because it scatters.")
    running = start(upstream, more="aliases: {smollm2-135m-instruct: [mock-model]}")
    made: dict[str, Any] = {}
    exec(shown("python").replace("http://127.0.0.1:8080", running.url), made)
    made["client"]._client.close()
    assert capsys.readouterr().out == "Because it scatters.\n"
    assert upstream.requests[0].json["max_tokens"] == 64


def test_the_row_for_an_ollama_server(start: Start, upstream: MockUpstream, tmp_path: Path) -> None:
    file = tmp_path / "shown.yaml"
    file.write_text(shown("yaml"))
    (row,) = config.load(file, {"HOME": str(tmp_path)}).providers
    names = [model.name for model in row.models]
    running = start(upstream, protocol=row.protocol, url=upstream.url.removesuffix("/v1"), models=names)
    upstream.script(Body(message("hi", **last())))
    client = ollama.Client(host=running.url, timeout=20)
    assert client.chat(model=names[0], messages=[{"role": "user", "content": "hello"}]).message.content == "hi"
    client._client.close()
    assert upstream.requests[0].path == "/api/chat"
