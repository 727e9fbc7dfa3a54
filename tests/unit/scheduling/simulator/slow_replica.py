"""A replica that walks through every step and counts every block: what the quick one must agree with to the last event."""

from collections.abc import Sequence
from math import ceil

from antiphon.scheduling.simulator.replica import ReplicaSpec

Event = tuple[str, int, float, int]
"""Stage, call, time, cached tokens."""


class SlowSequence:
    def __init__(self, call: int, prompt: int, output: int, blocks: Sequence[int], spec: ReplicaSpec) -> None:
        self.call = call
        self.prompt = max(1, prompt)
        self.output = max(1, output)
        self.blocks = list(blocks)[: min(self.prompt // spec.block_tokens, spec.kv_blocks)] if spec.prefix_cache else []
        self.size = min(ceil((self.prompt + self.output) / spec.block_tokens), spec.kv_blocks)
        self.prefilled = 0
        self.cached = 0
        self.generated = 0
        self.begun = False
        self.ready = 0
        self.cancelled = False


class SlowReplica:
    """Takes the same calls as the real model. Blocks are looked up in lists, times are added up step by step."""

    def __init__(self, spec: ReplicaSpec) -> None:
        self.spec = spec
        self.at = 0.0
        self.steps = 0
        self.ends: float | None = None
        self.work: list[tuple[SlowSequence, int]] = []
        self.decoded: list[SlowSequence] = []
        self.coming: list[tuple[float, SlowSequence]] = []
        """Calls on their way, and when they join."""
        self.waiting: list[SlowSequence] = []
        self.prefilling: list[SlowSequence] = []
        self.decoding: list[SlowSequence] = []
        self.computed: set[int] = set()
        self.unused: list[int] = []
        """Computed blocks that nobody holds, longest unused first."""
        self.own: dict[int, int] = {}
        """Blocks of each running call that are no prefix blocks, or copies of such."""
        self.busy = 0.0

    # -- memory

    def holders(self, block: int) -> int:
        return sum(block in sequence.blocks for sequence in (*self.prefilling, *self.decoding))

    def used(self) -> int:
        """Distinct prefix blocks, a block for each sequence's own parts, and copies where chains have gaps."""
        return sum(self.own[sequence.call] for sequence in (*self.prefilling, *self.decoding)) + len(
            {block for sequence in (*self.prefilling, *self.decoding) for block in sequence.blocks}
        )

    def fits(self, sequence: SlowSequence) -> bool:
        there = 0
        for block in sequence.blocks:
            if block not in self.unused and not self.holders(block):
                break
            there += 1
        returning = len([block for block in sequence.blocks[:there] if block in self.unused])
        return self.used() + returning + sequence.size - there <= self.spec.kv_blocks

    def hold(self, sequence: SlowSequence) -> None:
        there = 0
        for block in sequence.blocks:
            if block not in self.unused and not self.holders(block):
                break
            there += 1
        own = sequence.size - there
        for place, block in enumerate(sequence.blocks):
            if place >= there and not self.holders(block):
                own -= 1
            if block in self.unused:
                self.unused.remove(block)
        self.own[sequence.call] = own
        self.prefilling.append(sequence)
        while self.used() + len(self.unused) > self.spec.kv_blocks:
            self.computed.discard(self.unused.pop(0))

    def let_go(self, sequence: SlowSequence) -> None:
        (self.decoding if sequence in self.decoding else self.prefilling).remove(sequence)
        for block in reversed(sequence.blocks):
            if not self.holders(block) and block in self.computed:
                self.unused.append(block)
        del self.own[sequence.call]

    # -- steps

    def start(self) -> None:
        for sequence in [one for one in (*self.waiting, *self.prefilling, *self.decoding) if one.cancelled]:
            if sequence in self.waiting:
                self.waiting.remove(sequence)
                continue
            if sequence in self.prefilling and sequence.begun:
                self.computed.update(sequence.blocks[: sequence.prefilled // self.spec.block_tokens])
            self.let_go(sequence)
        while self.waiting and len(self.prefilling) + len(self.decoding) < self.spec.max_running and self.fits(self.waiting[0]):
            if (self.prefilling or self.decoding) and self.waiting[0].ready > self.steps:
                break
            self.hold(self.waiting.pop(0))
        if not (self.prefilling or self.decoding):
            self.ends = None
            return
        self.work, budget = [], self.spec.chunk
        for place, sequence in enumerate(self.prefilling):
            if not sequence.begun:
                missing = [block for block in sequence.blocks if block not in self.computed]
                if place and missing and self.holders(missing[0]) > 1:
                    break
                ready = sequence.blocks.index(missing[0]) if missing else len(sequence.blocks)
                sequence.cached = sequence.prefilled = min(ready * self.spec.block_tokens, sequence.prompt - 1)
            tokens = min(budget, sequence.prompt - sequence.prefilled)
            self.work.append((sequence, tokens))
            budget -= tokens
            if not budget:
                break
        self.decoded = list(self.decoding)
        context = sum(sequence.prompt + sequence.generated for sequence in self.decoded)
        spec = self.spec
        seconds = (
            spec.step_base_ms + spec.step_per_sequence_ms * len(self.decoded) + spec.step_per_kilotoken_ms * context / 1000
        ) / 1000 + sum(tokens for _, tokens in self.work) / spec.prefill_rate
        for sequence, tokens in self.work:
            before = sum(range(sequence.prefilled, sequence.prefilled + tokens)) + tokens / 2
            seconds += spec.prefill_attention_ms / 1000 * before / 1e6
        self.ends = self.at + seconds

    def finish_step(self) -> list[Event]:
        assert self.ends is not None
        told: list[Event] = []
        self.busy += self.ends - self.at
        self.at = self.ends
        self.steps += 1
        for sequence in self.decoded:
            sequence.generated += 1
            if sequence.generated == sequence.output and not sequence.cancelled:
                told.append(("finished", sequence.call, self.at, sequence.cached))
                self.let_go(sequence)
        for sequence, tokens in self.work:
            sequence.begun = True
            sequence.prefilled += tokens
            if sequence.prefilled == sequence.prompt and not sequence.cancelled:
                self.computed.update(sequence.blocks)
                told.append(("first_token", sequence.call, self.at, sequence.cached))
                self.prefilling.remove(sequence)
                self.decoding.append(sequence)
                sequence.generated = 1
                if sequence.output == 1:
                    told.append(("finished", sequence.call, self.at, sequence.cached))
                    self.let_go(sequence)
        return told

    # -- what the real one offers

    def advance(self, now: float) -> list[Event]:
        """As the real one: a step that ends exactly now is over, and the next one takes in whoever comes at this moment."""
        told: list[Event] = []
        while self.coming and self.coming[0][0] <= now:
            at, sequence = self.coming.pop(0)
            told += self.walk(at)
            self.join(sequence, at)
        return told + self.walk(now)

    def walk(self, now: float) -> list[Event]:
        told: list[Event] = []
        while True:
            if self.ends is None:
                self.start()
            if self.ends is None or self.ends > now:
                break
            told += self.finish_step()
            self.ends = None
        return told

    def submit(self, call: int, prompt: int, output: int, blocks: Sequence[int], now: float) -> None:
        sequence = SlowSequence(call, prompt, output, blocks, self.spec)
        if self.spec.call_overhead_ms:
            self.coming.append((now + self.spec.call_overhead_ms / 1000, sequence))
        else:
            self.join(sequence, now)

    def join(self, sequence: SlowSequence, now: float) -> None:
        self.waiting.append(sequence)
        if self.prefilling or self.decoding:
            sequence.ready = self.steps + (now > self.at) + self.spec.steps_to_join
        if not (self.prefilling or self.decoding):
            self.at = now
        self.restart(now)

    def cancel(self, call: int, now: float) -> None:
        on_its_way = [sequence for _, sequence in self.coming if sequence.call == call]
        if on_its_way:
            self.coming = [entry for entry in self.coming if entry[1] is not on_its_way[0]]
            return
        for sequence in (*self.decoding, *self.prefilling, *self.waiting):
            if sequence.call == call and not sequence.cancelled:
                sequence.cancelled = True
                self.restart(now)
                return

    def restart(self, now: float) -> None:
        """A step that begins at this very moment is made up anew."""
        if self.ends is None or now <= self.at:
            self.start()
