"""A replica of a model as the simulator knows it: continuous batching with chunked prefill, a bounded KV memory and a prefix cache.

The server works in steps. A step decodes one token of each running sequence and, while a prompt waits, prefills one chunk of it
(Agrawal et al., Sarathi-Serve, OSDI 2024). It takes

    base + per_sequence · running + per_context_token · tokens held + chunk / prefill_rate

seconds. Between two changes of the batch all steps are alike, so the model jumps from change to change: its cost does not depend on
the number of tokens, and its times are exact.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import ceil, inf
from typing import Literal

import msgspec

Stage = Literal["first_token", "finished"]


class ReplicaSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How fast a replica is, and how much it holds."""

    prefill_rate: float
    """Prompt tokens a second while nothing else runs."""
    step_base_ms: float
    """Milliseconds of a step that decodes nothing."""
    step_per_sequence_ms: float
    """Milliseconds more for each running sequence."""
    step_per_kilotoken_ms: float = 0.0
    """Milliseconds more for each thousand tokens in the running sequences."""
    chunk: int = 512
    """Prompt tokens prefilled in one step, at most."""
    max_running: int = 256
    """Sequences at once; further ones wait at the replica, in the order in which they came."""
    kv_blocks: int = 2000
    """KV memory, in blocks of ``block_tokens`` tokens."""
    block_tokens: int = 512
    prefix_cache: bool = True
    """Keep the blocks of finished prompts until their memory is needed."""

    def idle_time(self, prompt_tokens: int, output_tokens: int) -> float:
        """Seconds that a call takes here when it is alone and nothing of its prompt is cached."""
        held = prompt_tokens + output_tokens / 2
        step = self.step_base_ms + self.step_per_sequence_ms + self.step_per_kilotoken_ms * held / 1000
        return self.idle_first_token(prompt_tokens) + max(0, output_tokens - 1) * step / 1000

    def idle_first_token(self, prompt_tokens: int) -> float:
        """Seconds to the first token of such a call."""
        return prompt_tokens / self.prefill_rate + ceil(prompt_tokens / self.chunk) * self.step_base_ms / 1000


class Told(msgspec.Struct, frozen=True, gc=False):
    """What a replica says of a call."""

    at: float
    call: int
    stage: Stage
    cached_tokens: int


class _Sequence:
    __slots__ = ("blocks", "cached", "call", "left", "output", "own_blocks", "prompt")

    def __init__(self, call: int, prompt: int, output: int, blocks: Sequence[int]) -> None:
        self.call = call
        self.prompt = prompt
        self.output = output
        self.blocks = blocks
        self.own_blocks = 0
        self.cached = 0
        self.left = 0.0


class SimulatedReplica:
    """One replica in virtual time. Time only moves by ``advance``."""

    def __init__(self, spec: ReplicaSpec, now: float = 0.0) -> None:
        self.spec = spec
        self.busy = 0.0
        """Seconds in which it computed."""
        self.done_work = 0.0
        """Sum over its steps of the share of a full step that each was: see ``capacity_share``."""
        self._now = now
        self._steps = 0.0
        self._waiting: deque[_Sequence] = deque()
        self._prefilling: deque[_Sequence] = deque()
        self._decoding: dict[int, _Sequence] = {}
        self._ends: list[tuple[float, int]] = []
        self._held = 0
        self._used_blocks = 0
        self._shared: dict[int, int] = {}
        self._idle_blocks: OrderedDict[int, None] = OrderedDict()

    @property
    def running(self) -> int:
        """Sequences that are prefilled or decoded."""
        return len(self._prefilling) + len(self._decoding)

    @property
    def waiting(self) -> int:
        """Sequences that wait for a place or for memory."""
        return len(self._waiting)

    @property
    def kv_usage(self) -> float:
        """Share of the KV memory that running sequences hold."""
        return self._used_blocks / self.spec.kv_blocks

    def submit(self, call: int, prompt_tokens: int, output_tokens: int, blocks: Sequence[int], now: float) -> None:
        """Send a call. ``blocks`` are the hashes of its prompt's full prefix blocks; time must have been advanced to ``now``."""
        self._waiting.append(_Sequence(call, prompt_tokens, max(1, output_tokens), blocks))
        self._now = max(self._now, now)
        self._admit()

    def cancel(self, call: int) -> None:
        """Take a call out, wherever it is. One that is not there is ignored."""
        sequence = self._decoding.pop(call, None)
        if sequence is not None:
            self._held -= sequence.prompt + sequence.output // 2
            self._release(sequence)
        for place in (self._waiting, self._prefilling):
            for sequence in place:
                if sequence.call == call:
                    place.remove(sequence)
                    if place is self._prefilling:
                        self._release(sequence)
                    break
        self._admit()

    def next_change(self) -> float:
        """When something will happen here by itself; infinite where nothing runs."""
        step = self._step()
        return min(self._now + self._prefill_time(step), self._now + self._decode_time(step))

    def advance(self, now: float) -> list[Told]:
        """Let time pass until ``now`` and tell what happened meanwhile, in order."""
        told: list[Told] = []
        while True:
            step = self._step()
            prefilled, decoded = self._now + self._prefill_time(step), self._now + self._decode_time(step)
            upcoming = min(prefilled, decoded)
            if upcoming > now:
                break
            self._pass(upcoming - self._now, step)
            self._now = upcoming
            if prefilled <= decoded:
                told.append(self._begin_decoding())
            else:
                told.append(self._finish())
        self._pass(now - self._now, self._step())
        self._now = max(self._now, now)
        return told

    # -- time

    def _step(self) -> float:
        """Seconds of a step as the batch is now."""
        spec = self.spec
        milliseconds = (
            spec.step_base_ms + spec.step_per_sequence_ms * len(self._decoding) + spec.step_per_kilotoken_ms * self._held / 1000
        )
        return milliseconds / 1000 + (spec.chunk / spec.prefill_rate if self._prefilling else 0.0)

    def _prefill_time(self, step: float) -> float:
        return self._prefilling[0].left / self.spec.chunk * step if self._prefilling else inf

    def _decode_time(self, step: float) -> float:
        while self._ends and self._ends[0][1] not in self._decoding:
            heappop(self._ends)
        return max(0.0, self._ends[0][0] - self._steps) * step if self._ends else inf

    def _pass(self, seconds: float, step: float) -> None:
        if seconds <= 0 or not (self._prefilling or self._decoding):
            return
        steps = seconds / step
        self.busy += seconds
        self.done_work += seconds * self._fullness()
        if self._decoding:
            self._steps += steps
        if self._prefilling:
            self._prefilling[0].left -= steps * self.spec.chunk

    def _fullness(self) -> float:
        return 1.0 if self._prefilling else len(self._decoding) / self.spec.max_running

    # -- changes of the batch

    def _begin_decoding(self) -> Told:
        sequence = self._prefilling.popleft()
        self._decoding[sequence.call] = sequence
        self._held += sequence.prompt + sequence.output // 2
        heappush(self._ends, (self._steps + sequence.output - 1, sequence.call))
        return Told(self._now, sequence.call, "first_token", sequence.cached)

    def _finish(self) -> Told:
        sequence = self._decoding.pop(heappop(self._ends)[1])
        self._held -= sequence.prompt + sequence.output // 2
        self._release(sequence)
        self._admit()
        return Told(self._now, sequence.call, "finished", sequence.cached)

    def _admit(self) -> None:
        while self._waiting and self.running < self.spec.max_running and self._take_memory(self._waiting[0]):
            self._prefilling.append(self._waiting.popleft())

    # -- memory

    def _take_memory(self, sequence: _Sequence) -> bool:
        """Blocks for the whole sequence, its cached prefix shared. False where they are not to be had now."""
        spec = self.spec
        wanted = min(ceil((sequence.prompt + sequence.output) / spec.block_tokens), spec.kv_blocks)
        blocks = sequence.blocks if spec.prefix_cache else ()
        hits = 0
        for block in blocks:
            if block not in self._shared and block not in self._idle_blocks:
                break
            hits += 1
        resting = sum(block in self._idle_blocks for block in blocks[:hits])
        fresh = wanted - hits
        if self._used_blocks + resting + fresh > spec.kv_blocks:
            return False
        for block in blocks[:hits]:
            if block in self._idle_blocks:
                del self._idle_blocks[block]
                self._shared[block] = 0
                self._used_blocks += 1
            self._shared[block] += 1
        self._used_blocks += fresh
        sequence.own_blocks = fresh
        sequence.blocks = blocks
        for block in blocks[hits:]:
            if block in self._shared:  # another call brings the same text at this moment: each holds a copy, one is kept
                self._shared[block] += 1
            else:
                self._idle_blocks.pop(block, None)
                self._shared[block] = 1
                sequence.own_blocks -= 1
        while self._used_blocks + len(self._idle_blocks) > spec.kv_blocks:
            self._idle_blocks.popitem(last=False)
        sequence.cached = min(hits * spec.block_tokens, sequence.prompt - 1)
        sequence.left = float(sequence.prompt - sequence.cached)
        return True

    def _release(self, sequence: _Sequence) -> None:
        self._used_blocks -= sequence.own_blocks
        for block in reversed(sequence.blocks):
            self._shared[block] -= 1
            if not self._shared[block]:
                del self._shared[block]
                self._used_blocks -= 1
                self._idle_blocks[block] = None
                self._idle_blocks.move_to_end(block)
