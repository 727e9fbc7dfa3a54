"""One call being answered: hears the engine on one side and the peer on the other."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from antiphon.core.errors import AntiphonError, CapacityError, ClientGone, InternalError
from antiphon.core.ports import Engine, Generation
from antiphon.core.types import Headers, Usage
from antiphon.execution.engine_host.preparation import Prompt, Work
from antiphon.execution.engine_host.sequence import Piece, TextSequence
from antiphon.execution.engine_host.shapes import Answered
from antiphon.execution.wire.openai.errors import render
from antiphon.execution.wire.openai.passthrough import DONE
from antiphon.transport.server import Responder

BACKLOG = 1 << 20
"""Bytes of a stream that may wait for a slow peer. An engine cannot be paused, so beyond it the answer is given up."""

LAST_WORDS = 0.05
"""Seconds between an error event and the cut of the connection, so that the event is on its way."""

Ended = Callable[["Answer", AntiphonError | None], None]

log = logging.getLogger(__name__)


def send_error(responder: Responder, error: AntiphonError, request_id: str) -> None:
    """Answer a call with an error that was found before its answer began."""
    status, body = render(error, request_id)
    headers: Headers = ((b"content-type", b"application/json"), (b"x-request-id", request_id.encode()))
    if error.retry_after is not None or isinstance(error, CapacityError):
        headers += ((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after or 1))),)
    responder.send(status, headers, body)


class Answer:
    """Runs the generations of one call. ``ended`` is called once, when nothing of it is left."""

    def __init__(self, engine: Engine, work: Work, responder: Responder, request_id: str, ended: Ended) -> None:
        self._engine = engine
        self._work = work
        self._shape = work.shape
        self._responder = responder
        self.request_id = request_id
        self._ended: Ended | None = ended
        self._parts = [_Part(self, engine, work, prompt, first * prompt.params.n) for first, prompt in enumerate(work.prompts)]
        self._answers = [Answered() for part in self._parts for _ in part.sequences]
        self._unopened = set(range(len(self._answers)))
        self._open = len(self._parts)
        self._out = bytearray()
        self._flushing = False
        self._paused = False

    def start(self) -> None:
        """Queue the prompts. What goes wrong is answered to the peer."""
        self._responder.listener = self
        try:
            for part in self._parts:
                part.start()
        except AntiphonError as error:
            self.fail(error)

    # -- the engine

    def piece(self, index: int, piece: Piece) -> None:
        """Text of sequence ``index``, or its end."""
        if not self._work.stream:
            answer = self._answers[index]
            answer.text.append(piece.text)
            answer.tokens.extend(piece.tokens)
            answer.reason = piece.reason
            return
        if not (piece.text or piece.tokens or piece.reason):
            return
        if index in self._unopened:
            self._unopened.discard(index)
            self._out += self._shape.opening(index)
        if piece.text or piece.tokens:
            self._out += self._shape.piece(index, piece)
        if piece.reason:
            self._out += self._shape.closing(index, piece.reason)
        self._soon()

    def part_done(self) -> None:
        """All sequences of one prompt have ended."""
        self._open -= 1
        if self._open:
            return
        usage = _sum([part.usage for part in self._parts])
        if not self._work.stream:
            headers = ((b"content-type", b"application/json"), (b"x-request-id", self.request_id.encode()))
            self._responder.send(200, headers, self._shape.whole(self._answers, usage))
            self._finish(None)
            return
        if self._shape.include_usage:
            self._out += self._shape.usage(usage)
        self._out += DONE
        self._flush()
        self._responder.end()
        self._finish(None)

    def fail(self, error: AntiphonError) -> None:
        """Tell the peer that it gets no answer, or no more of it."""
        if self._ended is None:
            return
        self._cancel()
        if not self._responder.started:
            send_error(self._responder, error, self.request_id)
        else:
            self._out += b"data: %b\n\n" % render(error, self.request_id)[1]
            self._flush()
            asyncio.get_running_loop().call_later(LAST_WORDS, self._responder.abort)
        self._finish(error)

    # -- the peer

    def gone(self) -> None:
        """The peer has left: the engine must not work for it any longer."""
        self._cancel()
        self._finish(ClientGone())

    def pause(self) -> None:
        """The peer reads slowly; what comes now waits here."""
        self._paused = True

    def resume(self) -> None:
        """The peer has caught up."""
        self._paused = False
        self._flush()

    def _soon(self) -> None:
        """Write once for all that the engine tells in this turn of the loop."""
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush_turn)

    def _flush_turn(self) -> None:
        self._flushing = False
        if self._ended is None:
            return
        if not self._paused:
            self._flush()
        elif len(self._out) > BACKLOG:
            log.warning("call %s given up: its reader is too slow, %d bytes were waiting", self.request_id, len(self._out))
            self._cancel()
            self._responder.abort()
            self._finish(ClientGone("the caller reads too slowly"))

    def _flush(self) -> None:
        if not self._out:
            return
        data = bytes(self._out)
        self._out.clear()
        if self._responder.started:
            self._responder.write(data)
        else:
            headers = (
                (b"content-type", b"text/event-stream; charset=utf-8"),
                (b"cache-control", b"no-cache"),
                (b"x-request-id", self.request_id.encode()),
            )
            self._responder.start(200, headers, data)

    def _cancel(self) -> None:
        for part in self._parts:
            part.cancel()

    def _finish(self, error: AntiphonError | None) -> None:
        ended, self._ended = self._ended, None
        self._responder.listener = None
        if ended is not None:
            ended(self, error)


class _Part:
    """One prompt of a call: the listener of its generation."""

    def __init__(self, answer: Answer, engine: Engine, work: Work, prompt: Prompt, first: int) -> None:
        self._answer = answer
        self._engine = engine
        self._prompt = prompt
        self._first = first
        ends = frozenset(engine.info.eos_token_ids)
        self.sequences = [
            TextSequence(engine.token_bytes, work.stops, prompt.params.logprobs, ends) for _ in range(prompt.params.n)
        ]
        self._left = len(self.sequences)
        self._generation: Generation | None = None
        self._over = False
        self._stopped = False
        self.usage = Usage()

    def start(self) -> None:
        generation = self._engine.start(self._prompt.tokens, self._prompt.params, self)
        if self._over:
            generation.cancel()
        else:
            self._generation = generation

    def cancel(self) -> None:
        self._over = True
        if self._generation is not None:
            self._generation.cancel()
            self._generation = None

    # -- TokenListener

    def tokens(self, index: int, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        if self._over or self.sequences[index].ended:
            return
        try:
            piece = self.sequences[index].push(ids, logprobs)
        except (LookupError, TypeError, ValueError):
            log.exception("call %s: the engine told tokens that make no sense", self._answer.request_id)
            self._answer.fail(InternalError())
            return
        self._answer.piece(self._first + index, piece)
        if piece.reason:
            self._stopped = True
            self._left -= 1
        if not self._left:
            self.cancel()
            self._end(None)

    def finished(self, index: int, reason: str) -> None:
        if self._over or self.sequences[index].ended:
            return
        self._answer.piece(self._first + index, self.sequences[index].finish(reason))
        self._left -= 1

    def done(self, usage: Usage) -> None:
        if not self._over:
            self._end(usage)

    def failed(self, error: AntiphonError) -> None:
        if not self._over:
            self._over = True
            self._generation = None
            self._answer.fail(error)

    def _end(self, told: Usage | None) -> None:
        self._over = True
        self._generation = None
        if told is None or self._stopped:
            counted = sum(sequence.count for sequence in self.sequences)
            prompt = len(self._prompt.tokens)
            told = Usage(prompt, counted, prompt + counted, told.cached_tokens if told else 0)
        self.usage = told
        self._answer.part_done()


def _sum(usages: Sequence[Usage]) -> Usage:
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        total_tokens=sum(usage.total_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
    )
