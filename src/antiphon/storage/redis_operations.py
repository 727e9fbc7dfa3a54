"""Scripts on their way to Redis or Valkey: what comes together goes out together, in one round trip. Needs ``antiphon[redis]``."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

TOGETHER: Final = 256
"""Operations in one round trip, at most."""

FIRST_PAUSE: Final = 0.05
LAST_PAUSE: Final = 1.0
"""Seconds between two tries while Redis cannot be asked."""

PATIENCE: Final = 1.0
"""Seconds for a connection, and for an answer."""

log = logging.getLogger(__name__)


def connect(url: str, patience: float = PATIENCE) -> "redis.asyncio.Redis":
    """A client that says at once that Redis cannot be asked: by itself it tries again for seconds, and calls would wait for it.

    ``url`` is ``redis://``, ``rediss://`` or ``unix://``. It connects when it is first used; close it with ``aclose``.
    """
    return redis.asyncio.Redis.from_url(url, socket_timeout=patience, socket_connect_timeout=patience, retry=Retry(NoBackoff(), 0))


class Operation:
    """A script to run. ``then`` takes what it returned, or None where it could not be run."""

    __slots__ = ("arguments", "lasting", "script", "then")

    def __init__(self, script: str, arguments: Sequence[Any], then: Callable[[Any], None], *, lasting: bool = False) -> None:
        self.script = script
        self.arguments = arguments
        self.then = then
        self.lasting = lasting
        """It is tried until it is done."""


class Operations:
    """Runs operations in order, those that last first. Each script has one key: the prefix. Make it on the running loop."""

    def __init__(self, client: "redis.asyncio.Redis", prefix: str, name: str) -> None:
        self._client = client
        self._prefix = prefix
        self._name = name
        self._queue: deque[Operation] = deque()
        self._lasting: deque[Operation] = deque()
        self._loaded: dict[str, str] = {}
        self._stir = asyncio.Event()
        self._closing = False
        self._runner = asyncio.get_running_loop().create_task(self._run(), name=f"redis-{name}")

    def put(self, operation: Operation) -> None:
        """Run it as soon as possible."""
        (self._lasting if operation.lasting else self._queue).append(operation)
        self._stir.set()

    @property
    def queued(self) -> int:
        """Operations that wait, without those that last."""
        return len(self._queue)

    @property
    def waiting(self) -> int:
        """Operations under way."""
        return len(self._queue) + len(self._lasting)

    async def close(self) -> None:
        """Run what waits, if Redis can be asked, and stop. The client stays open."""
        self._closing = True
        self._stir.set()
        await self._runner

    def abandon(self) -> None:
        """Stop at once, as a killed process does."""
        self._runner.cancel()

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while not (self._closing and not self._queue and not self._lasting):
            await self._stir.wait()
            self._stir.clear()
            while self._queue or self._lasting:
                if await self._round_trip():
                    pause = FIRST_PAUSE
                    continue
                if self._closing:
                    if self._lasting:
                        log.error("%s: %d settlements could not be told to Redis before the end", self._name, len(self._lasting))
                    return
                await asyncio.sleep(pause)
                pause = min(LAST_PAUSE, 2 * pause)

    async def _round_trip(self) -> bool:
        """Run what waits; False where Redis could not be asked, and then only what lasts goes on waiting."""
        lasting = [self._lasting.popleft() for _ in range(min(TOGETHER, len(self._lasting)))]
        others = [self._queue.popleft() for _ in range(min(TOGETHER, len(self._queue)))]
        operations = lasting + others
        try:
            results = await self._execute(operations)
        except (RedisError, OSError) as error:
            log.warning("%s: Redis cannot be asked: %s", self._name, error)
            self._lasting.extendleft(reversed(lasting))
            waiting = others + list(self._queue)
            self._queue.clear()
            for operation in waiting:
                operation.then(None)
            return False
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, Exception):
                log.error("%s: a script failed in Redis: %s", self._name, result)
                operation.then(None)
            else:
                operation.then(result)
        return True

    async def _execute(self, operations: Sequence[Operation]) -> list[Any]:
        for script in {operation.script for operation in operations} - self._loaded.keys():
            self._loaded[script] = await self._client.script_load(script)
        pipe = self._client.pipeline(transaction=False)
        for operation in operations:
            pipe.evalsha(self._loaded[operation.script], 1, self._prefix, *operation.arguments)
        results: list[Any] = await pipe.execute(raise_on_error=False)
        if any(isinstance(result, NoScriptError) for result in results):
            self._loaded.clear()  # it was started anew; what has run already is not run again
            missing = [index for index, result in enumerate(results) if isinstance(result, NoScriptError)]
            for index, result in zip(missing, await self._execute([operations[index] for index in missing]), strict=True):
                results[index] = result
        return results


def nothing(_: Any) -> None:
    """Nobody waits for what an operation returns."""
