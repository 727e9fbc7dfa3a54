"""A replica of a model as the simulator knows it: continuous batching with chunked prefill, a bounded KV memory and a prefix cache.

The server works in steps. A step decodes one token of each sequence whose prompt is done, and prefills up to ``chunk`` tokens of
prompts in the order in which they came (Agrawal et al., Sarathi-Serve, OSDI 2024). It takes

    base + per_sequence · decoding sequences + per_kilotoken · their tokens / 1000 + prefilled tokens / prefill_rate
    + attention · prefilled kilotokens · the kilotokens of their prompt that come before them

seconds. Who comes or leaves during a step waits for its end. Steps between two changes of the batch differ only in the tokens that
the sequences have grown by, so their sum is known at once: a call costs the same whatever its length, and the times are those
of a loop over all the steps. A call that was sent is on its way for ``call_overhead_ms`` before it can join.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import ceil, inf, sqrt
from typing import Annotated, Literal

import msgspec

Stage = Literal["first_token", "finished"]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class ReplicaSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fast a replica is, and how much it holds."""

    prefill_rate: Positive
    """Prompt tokens a second while nothing else runs."""
    step_base_ms: Positive
    """Milliseconds of a step that decodes nothing."""
    step_per_sequence_ms: NotNegative
    """Milliseconds more for each sequence that is decoded."""
    step_per_kilotoken_ms: NotNegative = 0.0
    """Milliseconds more for each thousand tokens in these sequences."""
    prefill_attention_ms: NotNegative = 0.0
    """Milliseconds more for a thousand prompt tokens for each thousand tokens of the prompt before them: attention's square."""
    call_overhead_ms: NotNegative = 0.0
    """Milliseconds of each call before its prompt can be prefilled, in which the replica does other work: network, parsing."""
    steps_to_join: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Whole steps, after the one under way, for which a call that comes to a busy replica is not yet heard of, as at a server that
    computes and listens by turns."""
    chunk: Count = 512
    """Prompt tokens prefilled in one step, at most."""
    max_running: Count = 256
    """Sequences at once; further ones wait at the replica, in the order in which they came."""
    kv_blocks: Count = 2000
    """KV memory, in blocks of ``block_tokens`` tokens. A call that needs more than all of it gets all of it."""
    block_tokens: Count = 512
    prefix_cache: bool = True
    """Keep the blocks of prompts until their memory is needed."""

    def idle_time(self, prompt_tokens: int, output_tokens: int) -> float:
        """Seconds that a call takes here when it is alone and nothing of its prompt is cached."""
        steps = max(0, output_tokens - 1)
        first = self.step_base_ms + self.step_per_sequence_ms + self.step_per_kilotoken_ms * (prompt_tokens + 1) / 1000
        grown = self.step_per_kilotoken_ms / 1000 * steps * (steps - 1) / 2
        return self.idle_first_token(prompt_tokens) + (steps * first + grown) / 1000

    def idle_first_token(self, prompt_tokens: int) -> float:
        """Seconds to the first token of such a call."""
        steps = ceil(prompt_tokens / self.chunk) * self.step_base_ms
        attention = self.attention_ms(0, prompt_tokens)
        return prompt_tokens / self.prefill_rate + (steps + attention + self.call_overhead_ms) / 1000

    def attention_ms(self, done: int, tokens: int) -> float:
        """Milliseconds for the attention of so many tokens of a prompt to those before them, the first ``done`` among these."""
        return self.prefill_attention_ms * tokens * (done + tokens / 2) / 1e6

    def holds(self, prompt_tokens: int, output_tokens: int) -> bool:
        """Whether such a call fits into the memory."""
        return ceil((prompt_tokens + output_tokens) / self.block_tokens) <= self.kv_blocks


class Told(msgspec.Struct, frozen=True, gc=False):
    """What a replica says of a call."""

    at: float
    call: int
    stage: Stage
    cached_tokens: int


class _Sequence:
    __slots__ = ("begun", "blocks", "cached", "call", "cancelled", "left", "output", "own_blocks", "prompt", "ready", "since")

    def __init__(self, call: int, prompt: int, output: int, blocks: Sequence[int]) -> None:
        self.call = call
        self.prompt = prompt
        self.output = output
        self.blocks = blocks
        """Full prefix blocks of the prompt."""
        self.own_blocks = 0
        """Blocks in memory that nobody shares."""
        self.cached = 0
        self.left = 0
        """Prompt tokens still to be prefilled."""
        self.begun = False
        self.ready = 0
        """Number of the step after which it may join, unless nothing runs."""
        self.since = 0
        """Number of the step that decoded its second token."""
        self.cancelled = False


class SimulatedReplica:
    """One replica in virtual time. Time moves by ``advance`` only, to which every other call's time must have come before."""

    def __init__(self, spec: ReplicaSpec, now: float = 0.0) -> None:
        self.spec = spec
        self._memory = _Memory(spec)
        self._coming: deque[tuple[float, _Sequence]] = deque()
        """Calls that were sent and cannot join yet, and when they can."""
        self._waiting: deque[_Sequence] = deque()
        self._prefilling: deque[_Sequence] = deque()
        self._decoding: dict[int, _Sequence] = {}
        self._held = 0
        """Tokens in the decoding sequences."""
        self._step = 0
        """Steps done."""
        self._ends: list[tuple[int, int, _Sequence]] = []
        """Number of the step that decodes a sequence's last token."""
        self._decoded = 0
        """Sequences that were ever decoded: orders equal ends."""
        self._leaving: list[_Sequence] = []
        self._now = now
        self._began = now
        """When the steps ahead begin."""
        self._steps = 0
        """Steps ahead that are alike but for growth; 0 while nothing runs."""
        self._first = 0.0
        """Seconds of the first of them."""
        self._growth = 0.0
        """Seconds by which each takes longer than the one before."""
        self._prefilled: list[tuple[_Sequence, int]] = []
        """Prompts that each of them works on, and tokens of each."""
        self._end = inf
        self._busy = 0.0
        self._places = 0.0

    @property
    def running(self) -> int:
        """Sequences that are prefilled or decoded."""
        return len(self._prefilling) + len(self._decoding)

    @property
    def waiting(self) -> int:
        """Sequences that are on their way, or wait for a place or for memory."""
        return len(self._coming) + len(self._waiting)

    @property
    def kv_usage(self) -> float:
        """Share of the KV memory that running sequences hold."""
        return self._memory.used / self.spec.kv_blocks

    def busy(self, at: float) -> float:
        """Seconds in which it computed until ``at``, which is no later than the next change."""
        return self._busy + (max(0.0, at - self._began) if self._steps else 0.0)

    def occupied(self, at: float) -> float:
        """Seconds of all its sequences together in which they were prefilled or decoded, until such a time."""
        return self._places + (self.running * max(0.0, at - self._began) if self._steps else 0.0)

    def submit(self, call: int, prompt_tokens: int, output_tokens: int, blocks: Sequence[int], now: float) -> None:
        """Send a call. ``blocks`` are the hashes of its prompt's full prefix blocks; time must have been advanced to ``now``."""
        spec, prompt = self.spec, max(1, prompt_tokens)
        known = blocks[: min(prompt // spec.block_tokens, spec.kv_blocks)] if spec.prefix_cache else ()
        sequence = _Sequence(call, prompt, max(1, output_tokens), known)
        if spec.call_overhead_ms:
            self._coming.append((max(self._now, now) + spec.call_overhead_ms / 1000, sequence))
        else:
            self._join(sequence, now)

    def _join(self, sequence: _Sequence, now: float) -> None:
        self._waiting.append(sequence)
        if self._steps:
            self._now = max(self._now, now)
            under_way = self._steps_until(self._now - self._began) if self._now > self._began else 0
            sequence.ready = self._step + under_way + self.spec.steps_to_join
        else:
            self._began = self._now = max(self._now, now)
        self._change()

    def cancel(self, call: int) -> None:
        """Take a call out, wherever it is: at the end of the step under way. One that is not there is ignored."""
        for on_its_way in self._coming:
            if on_its_way[1].call == call:
                self._coming.remove(on_its_way)
                return
        for place in (self._decoding.values(), self._prefilling, self._waiting):
            for sequence in place:
                if sequence.call == call and not sequence.cancelled:
                    sequence.cancelled = True
                    self._leaving.append(sequence)
                    self._change()
                    return

    def next_change(self) -> float:
        """When something may happen here by itself; infinite where nothing runs."""
        return min(self._end, self._coming[0][0]) if self._coming else self._end

    def advance(self, now: float) -> list[Told]:
        """Let time pass until ``now`` and tell what happened meanwhile, in order."""
        told: list[Told] = []
        while (change := self.next_change()) <= now and change < inf:
            if self._end <= change:
                self._pass(told)
                self._plan()
            else:
                self._now = max(self._now, change)
                self._join(self._coming.popleft()[1], change)
        self._now = max(self._now, now)
        return told

    # -- steps

    def _change(self) -> None:
        """Somebody came or left: the step under way is the last of its kind. Where none is, others are planned."""
        if not self._steps or self._now <= self._began:
            self._plan()
            return
        if self._steps > 1:
            self._steps = min(self._steps, self._steps_until(self._now - self._began))
            self._end = self._began + self._seconds(self._steps)

    def _seconds(self, steps: int) -> float:
        return steps * self._first + self._growth * steps * (steps - 1) / 2

    def _steps_until(self, seconds: float) -> int:
        """Steps ahead after which at least so many seconds have passed."""
        half = self._growth / 2
        linear = self._first - half
        guess = (sqrt(linear * linear + 4 * half * seconds) - linear) / (2 * half) if half else seconds / self._first
        steps = max(1, ceil(guess))
        while steps > 1 and self._seconds(steps - 1) >= seconds:
            steps -= 1
        while self._seconds(steps) < seconds:
            steps += 1
        return steps

    def _plan(self) -> None:
        """At the border of two steps: who leaves, who joins, and how many steps alike come now."""
        if self._leaving:
            self._drop_cancelled()
        while self._waiting and self.running < self.spec.max_running:
            if (self.running and self._waiting[0].ready > self._step) or not self._memory.take(self._waiting[0]):
                break
            self._prefilling.append(self._waiting.popleft())
        if not (self._prefilling or self._decoding):
            self._steps, self._end = 0, inf
            return
        spec, decoding = self.spec, len(self._decoding)
        alike = self._ends[0][0] - self._step if self._ends else 0
        self._prefilled = []
        prefilled, attention, growth = 0, 0.0, 0.0
        if self._prefilling:
            self._prefilled = list(self._next_prompts())
            prefilled = sum(tokens for _, tokens in self._prefilled)
            attention = sum(spec.attention_ms(sequence.prompt - sequence.left, tokens) for sequence, tokens in self._prefilled)
            head, tokens = self._prefilled[0]
            growth = spec.prefill_attention_ms * tokens * tokens / 1e9
            without_end = max(1, (head.left - 1) // tokens)
            alike = min(alike, without_end) if self._ends else without_end
        if self._waiting and self._waiting[0].ready > self._step:
            alike = min(alike, self._waiting[0].ready - self._step)
        milliseconds = (
            spec.step_base_ms + spec.step_per_sequence_ms * decoding + spec.step_per_kilotoken_ms * (self._held + decoding) / 1000
        )
        self._steps = alike
        self._first = (milliseconds + attention) / 1000 + prefilled / spec.prefill_rate
        self._growth = spec.step_per_kilotoken_ms * decoding / 1e6 + growth
        self._end = self._began + self._seconds(alike)

    def _next_prompts(self) -> Iterator[tuple[_Sequence, int]]:
        """The prompts of a step, and how many tokens of each it prefills."""
        budget = self.spec.chunk
        for place, sequence in enumerate(self._prefilling):
            if not sequence.begun:
                if place and self._memory.is_coming(sequence):
                    return  # what both have in common is computed in this step: the next one finds it there
                sequence.cached = self._memory.cached(sequence)
                sequence.left = sequence.prompt - sequence.cached
            tokens = min(budget, sequence.left)
            yield sequence, tokens
            budget -= tokens
            if not budget:
                return

    def _pass(self, told: list[Told]) -> None:
        """Let the planned steps happen."""
        steps, at = self._steps, self._end
        self._busy += at - self._began
        self._places += self.running * (at - self._began)
        self._began = self._now = at
        self._step += steps
        self._held += steps * len(self._decoding)
        while self._ends and self._ends[0][0] <= self._step:
            sequence = heappop(self._ends)[2]
            if not sequence.cancelled:
                told.append(self._finish(sequence))
        for sequence, tokens in self._prefilled:
            sequence.begun = True
            sequence.left -= tokens * steps
            if not sequence.left and not sequence.cancelled:
                self._begin_decoding(sequence, told)

    def _begin_decoding(self, sequence: _Sequence, told: list[Told]) -> None:
        self._prefilling.remove(sequence)
        self._memory.computed(sequence, len(sequence.blocks))
        told.append(Told(self._now, sequence.call, "first_token", sequence.cached))
        sequence.since = self._step
        self._decoding[sequence.call] = sequence
        self._held += sequence.prompt
        if sequence.output == 1:
            told.append(self._finish(sequence))
            return
        self._decoded += 1
        heappush(self._ends, (self._step + sequence.output - 1, self._decoded, sequence))

    def _finish(self, sequence: _Sequence) -> Told:
        self._stop_decoding(sequence)
        return Told(self._now, sequence.call, "finished", sequence.cached)

    def _stop_decoding(self, sequence: _Sequence) -> None:
        del self._decoding[sequence.call]
        self._held -= sequence.prompt + self._step - sequence.since
        self._memory.release(sequence)

    def _drop_cancelled(self) -> None:
        for sequence in self._leaving:
            if sequence in self._waiting:
                self._waiting.remove(sequence)
            elif sequence in self._prefilling:
                self._prefilling.remove(sequence)
                done = sequence.prompt - sequence.left if sequence.begun else 0
                self._memory.computed(sequence, done // self.spec.block_tokens)
                self._memory.release(sequence)
            else:
                self._stop_decoding(sequence)
        self._leaving = []
        while self._ends and self._ends[0][2].cancelled:
            heappop(self._ends)


class _Memory:
    """The KV memory in blocks. Each is one sequence's own, a prefix block that sequences hold, or one that is kept for later."""

    def __init__(self, spec: ReplicaSpec) -> None:
        self._spec = spec
        self.used = 0
        """Blocks that sequences hold."""
        self._held: dict[int, int] = {}
        """Prefix blocks, and how many sequences hold each."""
        self._ready: set[int] = set()
        """Those of them that are computed."""
        self._kept: OrderedDict[int, None] = OrderedDict()
        """Computed prefix blocks that nobody holds, longest unused first."""

    def take(self, sequence: _Sequence) -> bool:
        """Blocks for the whole sequence, its prefix shared as far as it is there. False where they are not to be had now."""
        spec, blocks = self._spec, sequence.blocks
        wanted = min(ceil((sequence.prompt + sequence.output) / spec.block_tokens), spec.kv_blocks)
        there = 0
        for block in blocks:
            if block not in self._kept and block not in self._held:
                break
            there += 1
        kept = sum(block in self._kept for block in set(blocks[:there]))
        if self.used + kept + wanted - there > spec.kv_blocks:
            return False
        self.used += kept + wanted - there
        sequence.own_blocks = wanted - there
        for place, block in enumerate(blocks):
            if block in self._held:  # behind a gap, each of them computes a copy of its own
                self._held[block] += 1
                continue
            self._held[block] = 1
            if block in self._kept:
                del self._kept[block]
                self._ready.add(block)
            if place >= there:
                sequence.own_blocks -= 1
        while self.used + len(self._kept) > spec.kv_blocks:
            self._kept.popitem(last=False)
        return True

    def cached(self, sequence: _Sequence) -> int:
        """Prompt tokens that need no prefill; the last token always does."""
        ready = 0
        for block in sequence.blocks:
            if block not in self._ready:
                break
            ready += 1
        return min(ready * self._spec.block_tokens, sequence.prompt - 1)

    def is_coming(self, sequence: _Sequence) -> bool:
        """Whether another sequence is about to compute the next block of a prompt."""
        for block in sequence.blocks:
            if block not in self._ready:
                return self._held[block] > 1
        return False

    def computed(self, sequence: _Sequence, blocks: int) -> None:
        """So many leading blocks of a sequence are computed."""
        self._ready.update(sequence.blocks[:blocks])

    def release(self, sequence: _Sequence) -> None:
        """A sequence is over. Its computed prefix blocks are kept, the last ones to go first."""
        self.used -= sequence.own_blocks
        for block in reversed(sequence.blocks):
            self._held[block] -= 1
            if not self._held[block]:
                del self._held[block]
                self.used -= 1
                if block in self._ready:
                    self._ready.remove(block)
                    self._kept[block] = None
