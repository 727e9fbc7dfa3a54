"""An engine host on a TCP port, as ``antiphon engine`` runs it, in a thread of the test."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import httpx2
import msgspec
import openai
import uvloop

from antiphon.bootstrap.engine import Serving, serve_engine
from antiphon.core.ports import Engine
from antiphon.execution.engine_host.host import HostStats
from antiphon.transport.listeners import tcp_listener

DEADLINE = 100.0


class RunningHost:
    """Serves what ``load`` gives. ``outcome`` is the error that ended it, None if it ended in peace."""

    def __init__(self, name: str, load: Callable[[], Engine], grace: float = 5.0) -> None:
        self.name = name
        self.outcome: BaseException | None = None
        self.told: list[str] = []
        self.ready = threading.Event()
        self.listener = tcp_listener("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self._load = load
        self._grace = grace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._begun.wait()

    def stop(self) -> None:
        """What SIGTERM does."""
        assert self._loop is not None
        assert self._stopping is not None
        with contextlib.suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._stopping.set)

    def join(self) -> None:
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def stats(self) -> HostStats:
        return msgspec.json.decode(httpx2.get(f"{self.address}/stats").content, type=HostStats)

    def becomes(self, condition: Callable[[HostStats], bool], within: float = 5.0) -> HostStats:
        """The first statistics that meet ``condition``."""
        deadline = time.monotonic() + within
        while not condition(stats := self.stats()):
            assert time.monotonic() < deadline, stats
            time.sleep(0.01)
        return stats

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.address}/v1", api_key="none", max_retries=0, timeout=DEADLINE)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, self.listener:
                runner.run(self._serve())
        except BaseException as error:  # kept for the test to look at
            self.outcome = error

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._begun.set()
        await serve_engine(
            self.name, self._load, Serving(self.listener, self._stopping, self._grace, self.told.append, self.ready.set)
        )


@contextlib.contextmanager
def running(name: str, load: Callable[[], Engine], grace: float = 5.0) -> Iterator[RunningHost]:
    """A host that is ready."""
    host = RunningHost(name, load, grace)
    try:
        assert host.ready.wait(DEADLINE), host.outcome
        yield host
    finally:
        host.stop()
        host.join()
