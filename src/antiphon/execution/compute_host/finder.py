"""``POST /guardrails``: looks for things in long texts, which takes milliseconds, for workers that must not wait so long."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from antiphon.core.errors import EndpointNotFound, QueueFull
from antiphon.core.guardrail import Guardrail
from antiphon.execution.wire.host_guardrails import FoundTexts, LookFor, decode_look_for, encode_found
from antiphon.transport.server import Request, Responder

MAX_WAITING: Final = 64 << 20
"""Characters that may wait, all requests together."""


class Finder:
    """Looks by ``guardrails``, each under the name that workers have for it, on one thread. Create it on the running loop."""

    def __init__(self, guardrails: Mapping[str, Guardrail]) -> None:
        self._guardrails = guardrails
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="find")
        self._waiting = 0

    def close(self) -> None:
        """Drop what is left and free the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: Request, responder: Responder) -> None:
        """Answer one request, later. Raises AntiphonError for one that cannot be answered."""
        asked = decode_look_for(request.body)
        if unknown := [name for name in asked.guardrails if name not in self._guardrails]:
            raise EndpointNotFound(f"{len(unknown)} of these guardrails are not known here", remedy="look without this host")
        length = sum(map(len, asked.texts))
        if self._waiting and self._waiting + length > MAX_WAITING:
            raise QueueFull("too much waits to be looked at", remedy="try again", retry_after=1.0)
        self._waiting += length
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._look, asked)

        def done(looked: "asyncio.Future[bytes]") -> None:
            self._waiting -= length
            if not looked.cancelled() and not responder.started:
                responder.send(200, ((b"content-type", b"application/json"),), looked.result())

        future.add_done_callback(done)

    def _look(self, asked: LookFor) -> bytes:
        guardrails = [self._guardrails[name] for name in asked.guardrails]
        found = [[list(each.find(text)) for each in guardrails] for text in asked.texts]
        return encode_found(FoundTexts(found))
