"""The commands of docs/how-to/usage.md: a backup that is restored elsewhere is whole, and going back loses no call."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import URL

from antiphon.testing import MockUpstream
from tests.conftest import Need
from tests.integration.audit.test_audited_server import SETTINGS, recorded, use
from tests.integration.databases import fresh_database
from tests.integration.gateway.data_plane import WholeServer, provider

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "usage.md").read_text()
BLOCKS = [
    re.findall(r"^\$ (.*)$", block, re.MULTILINE) for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]


def block(beginning: str) -> list[str]:
    """The commands of the block that begins so."""
    return next(commands for commands in BLOCKS if commands[0].startswith(beginning))


class Machine:
    """A user's home with a configuration, in which commands of the page are run as they stand there."""

    def __init__(self, home: Path, url: URL | None, upstream: MockUpstream) -> None:
        self.home = home
        (home / "bin").mkdir(parents=True)
        command = home / "bin" / "antiphon"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m antiphon "$@"\n')
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        self.url = url.render_as_string(False).replace("+psycopg", "") if url else ""
        self.data = home / ".local" / "share" / "antiphon"
        row = provider("p0", upstream.url)
        settings = SETTINGS.replace("audit: {checkpoint_seconds: 1}\n", "")
        records = f'records: {{url: "{self.url}"}}\n' if url else ""
        self.configuration = f"providers: [{row}]\ndata_dir: {self.data}\n{settings}{records}"
        (home / "antiphon.yaml").write_text(f"models: []\nembeddings: {{enabled: false}}\n{self.configuration}")

    def start(self) -> WholeServer:
        return WholeServer(self.configuration, self.home, 1)

    def run(self, *commands: str, code: int = 0) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANTIPHON_", "XDG_"))}
        environment |= {"HOME": str(self.home), "RECORDS_URL": self.url, "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}
        printed = ""
        for command in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command], cwd=self.home, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == code, (command, done.stdout, done.stderr)
            printed += done.stdout
        return printed

    def usage(self) -> Any:
        return json.loads(self.run("antiphon usage --by key,model,day --json"))


@pytest.fixture(params=["sqlite", "postgresql"])
def machines(request: pytest.FixtureRequest, tmp_path: Path, need: Need) -> Iterator[tuple[Machine, Machine]]:
    """One with a server, and an empty one."""
    for program in ("sqlite3",) if request.param == "sqlite" else ("pg_dump", "pg_restore"):
        need.program(program)
    with MockUpstream() as upstream:
        made = []
        for name in ("one", "other"):
            url = fresh_database(request.getfixturevalue("postgres_server")) if request.param == "postgresql" else None
            made.append(Machine(tmp_path / name, url, upstream))
        yield made[0], made[1]


def test_a_backup_is_restored_elsewhere_and_agrees(machines: tuple[Machine, Machine]) -> None:
    machine, other = machines
    postgresql = bool(machine.url)
    server = machine.start()
    try:
        use(server)
        recorded(server, 5)
        machine.run(*block("pg_dump" if postgresql else "sqlite3"))  # with the server running
        used = machine.usage()
    finally:
        server.stop()
    backups = [path for path in machine.home.iterdir() if path.name.startswith(("calls-backup", "audit-backup"))]
    assert len(backups) == 2
    for path in backups:
        shutil.move(path, other.home / path.name)
    other.run(*block("pg_restore" if postgresql else "install"))
    commands = block("antiphon audit verify")
    assert "are as they were written" in other.run(commands[0])
    assert other.usage() == used
    assert "mock-model" in other.run("antiphon usage --by model", commands[1])
    again = other.start()  # and it goes on from there
    try:
        use(again)
        recorded(again, 10)
    finally:
        again.stop()
    assert "are as they were written" in other.run("antiphon audit verify")
    assert len(other.run("antiphon audit verify --json").split('"fault": null')) == 2


def test_going_back_to_the_first_schema_and_up_again_loses_no_call(machines: tuple[Machine, Machine]) -> None:
    machine, _ = machines
    server = machine.start()
    try:
        use(server)
        recorded(server, 5)
    finally:
        server.stop()
    used = machine.usage()
    (command,) = block("antiphon records migrate")
    assert "no place" not in machine.run(command)
    machine.run("antiphon records migrate --to 0001")  # which is where it is
    assert machine.usage() == used  # which brings it up again
    machine.run("antiphon records migrate --to 0001", code=1)  # not without being sure
    assert json.loads(machine.run("antiphon records migrate --json"))["to"] > "0001"
    machine.run("antiphon records migrate --to 9999", code=1)
