"""Continuous batching: one thread steps a batch of sequences; callers queue prompts and hear tokens on their event loop.

Knows no inference library. ``Batch`` is what it asks of one, and only the stepping thread ever touches it.
"""

import asyncio
import logging
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from antiphon.core.errors import AntiphonError, CapacityError, EngineFailed, QueueFull
from antiphon.core.ports import EngineStats, SamplingParams, TokenListener
from antiphon.core.types import Usage
from antiphon.execution.engines._prefixes import Prefixes

log = logging.getLogger(__name__)

LOOP_TURN: Final = 0.05
"""Seconds that the stepping thread gives an event loop to pass tokens on before it steps again."""
LOOP_TURNS: Final = 2
"""Turns of the event loop until what listeners wrote is on its way, and what arrived meanwhile has been read."""
_SMOOTHING: Final = 0.2
_PIECE: Final = SamplingParams(max_tokens=1, temperature=0.0, ignore_eos=True)


class Produced(msgspec.Struct, frozen=True):
    """What one step brought for one sequence."""

    ticket: int
    ids: Sequence[int]
    logprobs: Sequence[float]
    end: str = ""
    """``stop``, ``length``, ``memory`` (dropped: the KV cache ran out) or empty while it goes on."""


class Batch(Protocol):
    """Sequences that an inference library decodes together."""

    def add(self, ticket: int, prompt: Sequence[int], params: SamplingParams, seed: int) -> None:
        """Take in a sequence. Raises AntiphonError where the library refuses it; the others go on."""

    def cancel(self, ticket: int) -> None:
        """Drop a sequence at the next step. Its prompt must have been computed, or the prefix cache may keep what was not."""

    def busy(self) -> bool:
        """Whether a step would do anything."""

    def step(self) -> list[Produced]:
        """Advance every sequence. Whatever it raises ends the engine."""

    def cache_usage(self) -> float:
        """Share of the KV cache in use, 0..1."""

    def close(self) -> None:
        """Free everything."""


class Limits(msgspec.Struct, frozen=True):
    """How much runs and waits at once."""

    max_running: int
    max_waiting: int
    kv_blocks: int
    block_tokens: int
    step_tokens: int
    """Tokens, of prompts and of running sequences together, that one step may compute."""

    def blocks(self, tokens: int) -> int:
        """KV blocks that ``tokens`` tokens take."""
        return -(-tokens // self.block_tokens)

    def whole(self, tokens: int) -> int:
        """The part of ``tokens`` tokens that fills whole KV blocks."""
        return tokens // self.block_tokens * self.block_tokens


class Generation:
    """One prompt being answered by one or more sequences."""

    def __init__(self, stepper: "Stepper", prompt: Sequence[int], params: SamplingParams, listener: TokenListener) -> None:
        self.stepper = stepper
        self.loop = asyncio.get_running_loop()
        self.prompt = prompt
        self.params = params
        self.listener = listener
        self.over = False
        """The listener must hear nothing more."""
        self.unfinished = params.n
        self.produced = 0
        self.began = time.monotonic()
        seed = params.seed if params.seed is not None else secrets.randbits(32)
        self.sequences = [_Sequence(self, index, (seed + index * 0x9E3779B9) & 0xFFFFFFFF) for index in range(params.n)]

    def cancel(self) -> None:
        if not self.over:
            self.over = True
            self.stepper.cancel(self)

    def usage(self) -> Usage:
        return Usage(prompt_tokens=len(self.prompt), completion_tokens=self.produced, total_tokens=len(self.prompt) + self.produced)


class _Sequence:
    __slots__ = ("computed", "dropped", "generation", "goal", "ids", "index", "last_step", "seed")

    def __init__(self, generation: Generation, index: int, seed: int) -> None:
        self.generation = generation
        self.index = index
        self.seed = seed
        self.ids: list[int] = []
        self.computed = 0
        """Tokens of the prompt that are in the KV cache, in whole blocks, as far as known."""
        self.goal = 0
        """Tokens of the prompt that the batch was given."""
        self.last_step = 0
        """The step that brought its last token."""
        self.dropped = False

    @property
    def length(self) -> int:
        return len(self.generation.prompt) + len(self.ids)

    @property
    def complete(self) -> bool:
        """Whether the batch was given the whole prompt, and so answers it."""
        return self.goal == len(self.generation.prompt)


class _News(msgspec.Struct, frozen=True):
    """What one listener is to hear of one step."""

    generation: Generation
    index: int = 0
    ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()
    end: str = ""
    usage: Usage | None = None
    error: AntiphonError | None = None

    def tell(self) -> None:
        generation, listener = self.generation, self.generation.listener
        if generation.over:
            return
        if self.error is not None:
            generation.over = True
            listener.failed(self.error)
            return
        if self.ids:
            listener.tokens(self.index, self.ids, self.logprobs)
        if self.end and not generation.over:
            listener.finished(self.index, self.end)
        if self.usage is not None and not generation.over:
            generation.over = True
            listener.done(self.usage)


class Stepper:
    """Owns the thread and the queue. ``submit``, ``cancel``, ``stats`` and ``close`` may be called from any thread.

    The first sequence of a prompt goes ahead; the others follow once it has its first token, and so find the prompt in the prefix
    cache.

    A step is given no more of prompts than it computes to the end. A longer prompt goes in by pieces of whole KV blocks, each a
    sequence of its own that leaves its blocks in the prefix cache. So nothing is ever cancelled half computed, and what a
    cancelled call still costs is one step.
    """

    def __init__(self, name: str, batch: Batch, limits: Limits) -> None:
        self.name = name
        self.failure: AntiphonError | None = None
        """Why nothing can be started any more; None while the engine works."""
        self._batch = batch
        self._limits = limits
        self._changed = threading.Condition()
        self._inbox: deque[_Sequence] = deque()
        self._cancelled: list[Generation] = []
        self._closing = False
        self._waiting: deque[_Sequence] = deque()
        self._followers: deque[_Sequence] = deque()
        self._running: dict[int, _Sequence] = {}
        self._prefixes = Prefixes(limits.block_tokens, limits.kv_blocks)
        self._steps = 0
        self._news: list[_News] = []
        self._ticket = 0
        self._cache_usage = 0.0
        self._generated = 0
        self._prompted = 0
        self._seconds = 1.0
        self._thread = threading.Thread(target=self._run, name=f"engine {name}", daemon=True)
        self._thread.start()

    def submit(self, generation: Generation) -> None:
        """Queue a prompt. Raises QueueFull, or the engine's failure."""
        with self._changed:
            if self.failure is not None:
                raise self.failure
            self._make_sure_of_room()
            self._inbox.append(generation.sequences[0])
            self._changed.notify()

    def cancel(self, generation: Generation) -> None:
        with self._changed:
            self._cancelled.append(generation)
            self._changed.notify()

    def stats(self) -> EngineStats:
        waiting = len(self._inbox) + len(self._waiting) + len(self._followers)
        return EngineStats(len(self._running), waiting, self._cache_usage, self._generated, self._prompted)

    def close(self) -> None:
        """Fail what still runs and end the thread. Blocks until it has ended."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _make_sure_of_room(self) -> None:
        waiting = len(self._inbox) + len(self._waiting)
        free = max(0, self._limits.max_running - len(self._running) - len(self._followers))
        if waiting < self._limits.max_waiting + free:
            return
        retry = self._seconds * (waiting + 1) / self._limits.max_running
        raise QueueFull(
            f'the queue of model "{self.name}" is full: {len(self._running)} sequences run and {waiting} prompts wait',
            remedy="try again later, or raise max_waiting or max_running of the model",
            retry_after=float(min(60, max(1, math.ceil(retry)))),
        )

    def _run(self) -> None:
        reason: Exception | None = None
        try:
            while self._take():
                self._admit()
                if self._batch.busy():
                    self._steps += 1
                    self._collect(self._batch.step())
                    self._cache_usage = self._batch.cache_usage()
                self._pass_on()
        except Exception as error:  # the library's border: whatever comes ends the engine, not the process
            log.exception('engine of model "%s" failed', self.name)
            reason = error
        self._end(reason)

    def _take(self) -> bool:
        """Sleep until there is work, then take in what callers left. False when closing."""
        with self._changed:
            while not (self._closing or self._inbox or self._cancelled or self._running or self._waiting or self._followers):
                self._changed.wait()
            if self._closing:
                return False
            self._waiting.extend(self._inbox)
            self._inbox.clear()
            cancelled, self._cancelled = self._cancelled, []
        for generation in cancelled:
            self._drop(generation)
        return True

    def _drop(self, generation: Generation) -> None:
        self._waiting = deque(item for item in self._waiting if item.generation is not generation)
        self._followers = deque(item for item in self._followers if item.generation is not generation)
        for ticket in [ticket for ticket, item in self._running.items() if item.generation is generation]:
            self._let_go(ticket)

    def _let_go(self, ticket: int) -> None:
        """Cancel a sequence, at once if the last step brought it a token, else as soon as one does: its prompt is computed then."""
        sequence = self._running[ticket]
        sequence.dropped = True
        if sequence.last_step == self._steps:
            self._batch.cancel(ticket)
            del self._running[ticket]

    def _admit(self) -> None:
        limits = self._limits
        held = sum(limits.blocks(item.length + 1) for item in self._running.values())
        room = limits.step_tokens - len(self._running)
        while len(self._running) < limits.max_running and room > 0:
            queue = self._followers or self._waiting
            if not queue:
                return
            sequence = queue[0]
            needed = limits.blocks(sequence.length + 1)
            if self._running and held + needed > limits.kv_blocks:
                return
            sequence.computed = max(sequence.computed, self._prefixes.known(sequence.generation.prompt))
            sequence.goal = self._reach(sequence, room)
            if sequence.goal <= sequence.computed < len(sequence.generation.prompt):
                return
            queue.popleft()
            if self._start(sequence):
                held += needed
                room -= max(1, sequence.goal - sequence.computed)

    def _reach(self, sequence: _Sequence, room: int) -> int:
        """How many tokens of the prompt there are after a step that has room for ``room`` more of them.

        The end of a seeded prompt is always computed by itself, so that it rounds alike whether or not the rest was cached.
        """
        whole = len(sequence.generation.prompt)
        body = self._limits.whole(whole - 1)
        alone = sequence.generation.params.seed is None or sequence.computed >= body
        if alone and whole - sequence.computed <= room:
            return whole
        return min(body, self._limits.whole(sequence.computed + room))

    def _start(self, sequence: _Sequence) -> bool:
        generation = sequence.generation
        self._ticket += 1
        try:
            if sequence.complete:
                self._batch.add(self._ticket, generation.prompt, generation.params, sequence.seed)
            else:
                self._batch.add(self._ticket, generation.prompt[: sequence.goal], _PIECE, 0)
        except AntiphonError as error:
            self._fail(generation, error)
            return False
        self._running[self._ticket] = sequence
        if sequence.index == 0 and sequence.complete:
            self._prompted += len(generation.prompt)
        return True

    def _fail(self, generation: Generation, error: AntiphonError) -> None:
        self._drop(generation)
        self._news.append(_News(generation, error=error))

    def _collect(self, produced: list[Produced]) -> None:
        for item in produced:
            sequence = self._running.get(item.ticket)
            if sequence is None:
                continue
            sequence.last_step = self._steps
            if item.end:
                del self._running[item.ticket]
            if sequence.dropped:
                if not item.end:
                    self._let_go(item.ticket)
            elif item.end == "memory":
                self._fail(sequence.generation, _out_of_cache(self.name))
            elif sequence.complete:
                self._news.append(self._news_of(sequence, item))
            else:
                self._go_on(sequence)

    def _go_on(self, sequence: _Sequence) -> None:
        """Put a prompt of which a piece was computed back to where it was in its queue."""
        sequence.computed = sequence.goal
        self._prefixes.add(sequence.generation.prompt[: sequence.goal])
        queue = self._waiting if sequence.index == 0 else self._followers
        queue.appendleft(sequence)

    def _news_of(self, sequence: _Sequence, item: Produced) -> _News:
        generation, count = sequence.generation, len(item.ids)
        if count and not sequence.ids:
            self._prefixes.add(generation.prompt)
            if sequence.index == 0:
                self._followers.extend(generation.sequences[1:])
        sequence.ids.extend(item.ids)
        generation.produced += count
        self._generated += count
        usage = None
        if item.end:
            self._prefixes.add([*generation.prompt, *sequence.ids[:-1]])
            generation.unfinished -= 1
            if not generation.unfinished:
                usage = generation.usage()
                self._seconds += _SMOOTHING * (time.monotonic() - generation.began - self._seconds)
        return _News(generation, sequence.index, item.ids, item.logprobs, item.end, usage)

    def _pass_on(self) -> None:
        """Tell the listeners, one call per event loop, and let the loops run.

        OpenVINO GenAI holds the interpreter's lock while it steps, so without a pause what it made would go out a step later.
        """
        if not self._news:
            return
        by_loop: dict[asyncio.AbstractEventLoop, list[_News]] = {}
        for news in self._news:
            by_loop.setdefault(news.generation.loop, []).append(news)
        self._news = []
        for loop, batch in by_loop.items():
            told = threading.Event()
            try:
                loop.call_soon_threadsafe(_tell, batch, told)
            except RuntimeError:  # the loop is closed: nobody listens any more
                for news in batch:
                    news.generation.cancel()
                continue
            told.wait(LOOP_TURN)

    def _end(self, reason: Exception | None) -> None:
        with self._changed:
            message = f"it stopped on an error: {reason}" if reason else "it was closed"
            self.failure = EngineFailed(
                f'the engine of model "{self.name}" does not run: {message}', remedy="it has to be restarted"
            )
            left = {item.generation for item in (*self._running.values(), *self._followers, *self._waiting, *self._inbox)}
            for queue in (self._inbox, self._waiting, self._followers):
                queue.clear()
        for ticket in self._running:
            self._batch.cancel(ticket)
        self._running.clear()
        self._news = [_News(generation, error=self.failure) for generation in left]
        self._pass_on()
        try:
            self._batch.close()
        except Exception:  # the library's border: it may be past closing
            log.exception('engine of model "%s" could not be closed', self.name)


def _tell(batch: list[_News], told: threading.Event) -> None:
    for news in batch:
        try:
            news.tell()
        except Exception:  # a listener's border: one that fails must not silence the others
            log.exception("a listener failed; its generation is cancelled")
            news.generation.cancel()
    _after(LOOP_TURNS, told)


def _after(turns: int, told: threading.Event) -> None:
    if turns:
        asyncio.get_running_loop().call_soon(_after, turns - 1, told)
    else:
        told.set()


def _out_of_cache(name: str) -> AntiphonError:
    return CapacityError(
        f'the KV cache of model "{name}" ran out',
        remedy="try again later, or raise kv_cache_mb or lower max_running of the model",
        retry_after=1.0,
    )
