"""Checks the JSON Schemas of calls one after another in a thread of their own, so that no other call waits for it."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from antiphon.core.errors import AntiphonError, EngineFailed, InternalError, InvalidRequest, QueueFull
from antiphon.execution.engines._stepper import Generation

log = logging.getLogger(__name__)

MAX_CHECKING: Final = 16
"""Calls whose schemas may wait to be checked; more are refused."""


class Checker(Protocol):
    """Finds out whether a schema can be enforced."""

    def knows(self, schema: str) -> bool:
        """Whether ``schema`` was found good already. Any thread may ask."""

    def check(self, schema: str) -> None:
        """Raises InvalidRequest where it cannot. May take seconds; only the queue's thread calls it."""


class SchemaQueue:
    """Hands generations over to their stepper once their schemas are found good. Used on event loops."""

    def __init__(self, name: str, checker: Checker, check_form: Callable[[str], None]) -> None:
        self._check_form = check_form
        self.checker = checker
        self._name = name
        self._checking = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"schemas {name}")

    def submit(self, schema: str, generation: Generation) -> None:
        """Queue a generation. Raises QueueFull, or the engine's failure."""
        if generation.stepper.failure is not None:
            raise generation.stepper.failure
        try:
            self._check_form(schema)
        except InvalidRequest as error:  # at once, however many schemas are being compiled
            generation.loop.call_soon(_fail, generation, error)
            return
        if self._checking >= MAX_CHECKING:
            raise QueueFull(
                f'{self._checking} calls of model "{self._name}" wait for their JSON Schemas to be compiled',
                remedy="try again later",
                retry_after=2.0,
            )
        future = generation.loop.run_in_executor(self._thread, self._check, schema, generation)
        self._checking += 1
        future.add_done_callback(lambda done: self._checked(done, generation))

    def close(self) -> None:
        """Check nothing more; the generations that wait fail."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _check(self, schema: str, generation: Generation) -> None:
        if not generation.over:
            self.checker.check(schema)

    def _checked(self, future: "asyncio.Future[None]", generation: Generation) -> None:
        self._checking -= 1
        if generation.over:
            return
        try:
            if future.cancelled():
                raise EngineFailed(
                    f'the engine of model "{self._name}" does not run: it was closed', remedy="it has to be restarted"
                )
            future.result()
            generation.stepper.submit(generation)
        except AntiphonError as error:
            _fail(generation, error)
        except Exception:  # the library's border: the call must hear of its end whatever came
            log.exception("a JSON Schema could not be checked")
            _fail(generation, InternalError())


def _fail(generation: Generation, error: AntiphonError) -> None:
    if not generation.over:
        generation.over = True
        generation.listener.failed(error)
