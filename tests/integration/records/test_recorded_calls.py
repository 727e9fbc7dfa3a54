"""What a server records of its calls, in SQLite and in PostgreSQL, and how it is asked for."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from antiphon.testing import MockUpstream
from tests.integration.databases import fresh_database
from tests.integration.gateway.data_plane import WholeServer, provider
from tests.integration.postgres_server import PostgresServer
from tests.integration.supervisor.served import eventually

HELLO: Any = [{"role": "user", "content": "hello there"}]
SETTINGS = """
server: {keys: [{name: ann, key: key-of-ann, team: red, roles: [platform]}, {name: bob, key: key-of-bob}]}
prices: [{model: mock-model, input: 500000, output: 1000000}]
"""

Serve = Callable[[], WholeServer]


@pytest.fixture(params=["sqlite", "postgresql"])
def records(request: pytest.FixtureRequest) -> str:
    """The setting of the records."""
    if request.param == "sqlite":
        return ""
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = fresh_database(server).render_as_string(hide_password=False).replace("+psycopg", "")
    return f'records: {{url: "{url}"}}\n'


@pytest.fixture
def serve(tmp_path: Path, records: str) -> Iterator[Serve]:
    """Starts a server on the same folder each time."""
    servers: list[WholeServer] = []
    with MockUpstream() as upstream:
        row = provider("p0", upstream.url)

        def begin() -> WholeServer:
            servers.append(WholeServer(f"providers: [{row}]\ndata_dir: {tmp_path / 'data'}\n{SETTINGS}{records}", tmp_path, 1))
            return servers[-1]

        yield begin
        for server in servers:
            server.stop()


def ask(server: WholeServer, key: str) -> None:
    server.client(key).chat.completions.create(model="mock-model", messages=HELLO)


def usage(server: WholeServer, query: str = "") -> httpx2.Response:
    return httpx2.get(f"{server.url}/admin/usage{query}", headers={"authorization": "Bearer key-of-ann"}, timeout=20)


def counted(server: WholeServer, query: str) -> list[tuple[Any, ...]]:
    return [(*row["group"].values(), row["calls"], row["cost"]) for row in usage(server, query).json()["data"]]


def test_what_was_used_is_known_by_key_and_team_and_after_a_restart(serve: Serve) -> None:
    server = serve()
    for key in ("key-of-ann", "key-of-ann", "key-of-bob"):
        ask(server, key)
    cost = 2 * 500_000 + 2 * 1_000_000  # two words, and the same two back
    expected = [("ann", 2), ("bob", 1)]
    eventually(lambda: [row[:2] for row in counted(server, "?by=key")] == expected)
    assert counted(server, "?by=team,model") == [("", "mock-model", 1, cost), ("red", "mock-model", 2, 2 * cost)]
    assert counted(server, "?key=bob") == [(1, cost)]
    assert counted(server, "?since=2999-01-01") == [(0, 0)]
    lines = list(csv.DictReader(io.StringIO(usage(server, "?by=key&format=csv").text)))
    assert [(line["key"], int(line["calls"])) for line in lines] == expected
    server.stop()
    again = serve()
    assert [row[:2] for row in counted(again, "?by=key")] == expected
    shown = subprocess.run(
        [sys.executable, "-m", "antiphon", "usage", "--config", again.file, "--by", "key", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [(row["group"]["key"], row["calls"]) for row in json.loads(shown.stdout)] == expected


def test_a_control_plane_that_is_killed_records_each_call_once(serve: Serve) -> None:
    server = serve()
    began = counted(server, "?key=ann")[0][0]
    for number in range(60):
        if number % 20 == 10:
            told = httpx2.get(f"{server.url}/admin/processes", headers={"authorization": "Bearer key-of-ann"}).json()
            os.kill(next(row["pid"] for row in told["processes"] if row["role"] == "control"), signal.SIGKILL)
            eventually(lambda: usage(server).status_code == 200)
        ask(server, "key-of-ann")
    eventually(lambda: counted(server, "?key=ann")[0][0] == began + 60)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("?by=colour", "by"),
        ("?by=key,key", "by"),
        ("?since=yesterday", "since"),
        ("?until=2026-13-01", "until"),
        ("?format=xml", "format"),
    ],
)
@pytest.mark.parametrize("records", ["sqlite"], indirect=True)
def test_what_cannot_be_asked_is_told(serve: Serve, query: str, param: str) -> None:
    answer = usage(serve(), query)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize("records", ["postgresql"], indirect=True)
def test_a_database_that_is_away_stops_no_call(serve: Serve, postgres_server: PostgresServer) -> None:
    server = serve()
    began = counted(server, "?key=bob")[0][0]
    postgres_server.stop()
    try:
        for _ in range(5):
            ask(server, "key-of-bob")
        assert usage(server).json()["error"]["code"] == "records_unavailable"
        with pytest.raises(openai.AuthenticationError):
            ask(server, "key-of-nobody")
    finally:
        postgres_server.start()
    eventually(lambda: counted(server, "?key=bob")[0][0] == began + 5)
