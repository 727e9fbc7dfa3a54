"""The log of a worker says why a provider fails, also where callers are helped by another one and see nothing of it."""

from collections.abc import Callable
from typing import Any

from antiphon.testing import MockUpstream
from tests.integration.gateway.data_plane import DataPlaneProcess

Start = Callable[..., DataPlaneProcess]
HELLO: Any = [{"role": "user", "content": "hello"}]
KEY = "sk-never-to-be-seen"


def test_a_provider_that_is_not_there_is_told_once_with_the_reason(start: Start, second: MockUpstream) -> None:
    with MockUpstream() as gone:
        pass
    second.chat("helped", times=None)
    worker = start(gone, second, key=KEY)
    client = worker.client()
    for stream in (False, True, False):
        client.chat.completions.create(model="mock-model", messages=HELLO, stream=stream)
    worker.stop()
    told = [line for line in worker.log_path.read_text().splitlines() if "calls to provider" in line]
    assert len(told) == 1
    assert "calls to provider p0 fail (upstream_unreachable): " in told[0]
    assert gone.url.removeprefix("http://").removesuffix("/v1") in told[0]
    assert "refused" in told[0]
    assert KEY not in worker.log_path.read_text()


def test_a_provider_that_recovers_is_told_too(start: Start, upstream: MockUpstream, second: MockUpstream) -> None:
    upstream.error(401, f"wrong key {KEY}")
    upstream.chat("well", times=None)
    second.chat("helped", times=None)
    worker = start(upstream, second, key=KEY)
    for _ in range(3):
        worker.client().chat.completions.create(model="mock-model", messages=HELLO)
    worker.stop()
    log = worker.log_path.read_text()
    assert 'the server "p0" answered with status 401; the operator should check the provider\'s key' in log
    assert log.count("provider p0 answers again") == 1
    assert KEY not in log
