"""Two servers share the file of the responses; it is damaged and deleted, workers are killed: no answer says what is not so."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from antiphon.testing import MockUpstream
from tests.acceptance.gateway import Gateway, until

pytestmark = pytest.mark.timeout(300)


class Caller:
    """Holds conversations with one server after the other, and remembers which responses were said to be kept."""

    def __init__(self, *gateways: Gateway) -> None:
        self.clients = [
            openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=5, timeout=60) for gateway in gateways
        ]
        self.kept: list[str] = []

    def say(self, text: str, at: int = 0) -> Any:
        answer = self.clients[at % len(self.clients)].responses.create(model="mock-model", input=text)
        if answer.to_dict()["store"]:
            self.kept.append(answer.id)
        return answer

    def lost(self) -> list[str]:
        """Those that were said to be kept and cannot be continued, with any of the servers."""
        return [name for at, name in enumerate(self.kept) if not self._continues(self.clients[at % len(self.clients)], name)]

    def _continues(self, client: openai.OpenAI, name: str) -> bool:
        try:
            client.responses.create(model="mock-model", input="and?", previous_response_id=name, store=False)
        except openai.BadRequestError as error:
            if error.code != "previous_response_not_found":
                raise
            return False
        return True


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Gateway, Gateway]]:
    """Two with a file between them, of two workers each."""
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "data" / "responses").mkdir(parents=True)
    (two / "data").mkdir(parents=True)
    (two / "data" / "responses").symlink_to(one / "data" / "responses")
    with MockUpstream() as upstream:
        upstream.chat("hello", times=None)
        gateways = Gateway(one, upstream, workers=2), Gateway(two, upstream, workers=2)
        yield gateways
        assert [gateway.stop() for gateway in gateways] == [0, 0]


def test_what_was_said_to_be_kept_is_kept(servers: tuple[Gateway, Gateway]) -> None:
    caller = Caller(*servers)
    folder = servers[0].data / "responses"
    file = folder / "responses.db"
    for number in range(60):
        caller.say(f"{number} " + "z" * 6000, number)
    assert len(caller.kept) == 60
    assert caller.lost() == []

    # the first page and what tells where responses are is overwritten: nothing of the texts
    with file.open("r+b") as raw:
        raw.write(os.urandom(4096))
    for number in range(20):
        caller.say(f"after {number}", number)
    assert caller.lost() == []

    # workers are killed in the middle of their calls
    over = threading.Event()

    def call_on() -> None:
        other = Caller(*servers)
        while not over.is_set():
            other.say("z" * 3000, len(other.kept))
        caller.kept.extend(other.kept)

    calling = threading.Thread(target=call_on)
    calling.start()
    for gateway in servers:
        pid = next(row["pid"] for row in gateway.processes() if row["name"] == "worker-0")
        os.kill(pid, signal.SIGKILL)
        until(
            lambda gateway=gateway, pid=pid: any(  # type: ignore[misc]
                row["name"] == "worker-0" and row["state"] == "ready" and row["pid"] != pid for row in gateway.processes()
            )
        )
    over.set()
    calling.join(60)
    assert caller.lost() == []

    # everything is deleted
    gone = len(caller.kept)
    for one in folder.iterdir():
        one.unlink()
    for number in range(8):
        caller.say(f"anew {number}", number)
    assert len(caller.kept) == gone + 8
    assert caller.lost() == caller.kept[:gone]
    assert file.exists()
    said = servers[0].server.said + servers[1].server.said
    assert said.count("it was deleted while it was in use") == 1
