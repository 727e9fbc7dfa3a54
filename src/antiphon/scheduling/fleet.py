"""The replicas of one deployment, and the work that is out at each."""

from collections.abc import Sequence
from math import exp, inf, log

import msgspec

from antiphon.core.breaker import Breaker, BreakerPolicy
from antiphon.core.schedules import ReplicaState
from antiphon.scheduling.job import Job
from antiphon.scheduling.limits import AdaptiveLimit, LimitSettings
from antiphon.scheduling.prefix import PrefixIndex
from antiphon.scheduling.speed import Speed

METRICS_COUNT_FOR = 5.0
"""Seconds after which what a replica said of its load is believed no more."""
PEAK_DECAY = 10.0
"""Seconds in which a peak of latency falls to 1/e."""
PENALTY = 10.0
"""Seconds that an error counts as, so that fast errors draw nobody."""


class ReplicaInfo(msgspec.Struct, frozen=True):
    """What is known of a replica before it has answered anything."""

    name: str
    weight: float = 1.0
    """Share of the traffic, against the others', for policies that go by weight."""
    region: str = ""
    rack: str = ""
    host: str = ""
    limits: LimitSettings = LimitSettings()
    cache_blocks: int = 4096
    """Prefix blocks that its KV cache holds."""


class Reported(msgspec.Struct, frozen=True, gc=False):
    """What a replica says of its own load."""

    running: int
    waiting: int
    kv_usage: float = 0.0
    """Share of its KV memory in use, 0..1."""


class Out(msgspec.Struct, gc=False):
    """A call at a replica."""

    job: Job
    sent: float
    uncached: float
    """Prompt tokens that it has to prefill, as far as known."""
    ahead: float
    """Uncached prompt tokens out at the replica when it was sent, its own among them."""
    output: float
    """Answer tokens, by estimate."""
    calls: int
    """Calls at the replica when it was sent."""
    first_at: float = 0.0
    """When its first token came; 0 before."""
    calls_at_first: int = 0
    trial: int = 0
    """Number of its trial, where the breaker was half open."""
    hedge: bool = False


class Replica:
    """One replica: what is out there, how fast it is, and whether it is well."""

    def __init__(self, index: int, info: ReplicaInfo, typical: Speed, breaker: BreakerPolicy, now: float) -> None:
        self.index = index
        self.info = info
        self.joined = now
        self.speed = Speed(typical)
        self.limit = AdaptiveLimit(info.limits)
        self.prefixes = PrefixIndex(info.cache_blocks)
        self.breaker = Breaker()
        self.breaker_policy = breaker
        self.cooling_until = 0.0
        """It asked to be left alone until then (retry-after)."""
        self.out: dict[int, Out] = {}
        self.prefill_tokens = 0.0
        """Uncached prompt tokens that are not prefilled yet."""
        self.tokens = 0.0
        """Tokens of the prompts and expected answers that are out."""
        self.served = 0.0
        """Calls sent there, divided by its weight: for taking turns."""
        self._peak = 0.0
        self._peak_at = now
        self._others = 0
        self._reported_at = -inf

    @property
    def calls(self) -> int:
        """Calls out there."""
        return len(self.out)

    @property
    def ceiling(self) -> float:
        """Calls that it may have at once, now."""
        return self.limit.value

    def load(self, now: float) -> float:
        """Calls there: ours, and others' as far as it told lately. What it told fades, so that nobody herds after stale numbers."""
        age = now - self._reported_at
        return self.calls + self._others * max(0.0, 1 - age / METRICS_COUNT_FOR)

    def uncached(self, job: Job, block_tokens: int) -> float:
        """Tokens of the job's prompt that would have to be prefilled here."""
        if not job.blocks:
            return float(job.prompt_tokens)
        return max(1.0, job.prompt_tokens - self.prefixes.hits(job.blocks) * block_tokens)

    def first_token_in(self, uncached: float) -> float:
        """Seconds to the first token of a call that came now."""
        return self.speed.first_token(self.prefill_tokens + uncached)

    def answer_in(self, uncached: float, output: float) -> float:
        """Seconds to the whole answer of a call that came now."""
        return self.speed.answer(self.prefill_tokens + uncached, output, self.calls + 1)

    def fits(self, job: Job, share: float, output: float) -> bool:
        """Whether it may have one more call; ``share`` of its places are for this kind of call."""
        most = self.info.limits.max_tokens
        if most and self.out and self.tokens + job.prompt_tokens + output > most:
            return False
        return self.calls < max(1.0, self.limit.value * share)

    def well(self, now: float) -> bool:
        """Whether calls should go there."""
        return now >= self.cooling_until and self.breaker.view(now).state != "open"

    def latency(self, now: float) -> float:
        """Seconds of its calls: peaks at once, and fading after (peak EWMA, of Twitter's Finagle)."""
        return self._peak * exp(-(now - self._peak_at) / PEAK_DECAY) if self._peak else 0.0

    def felt(self, seconds: float, now: float) -> None:
        """A call took so long, or is booked as if it had."""
        faded = exp(-(now - self._peak_at) / PEAK_DECAY)
        self._peak = max(seconds, self._peak * faded + seconds * (1 - faded))
        self._peak_at = now

    def told(self, reported: Reported, now: float) -> None:
        """Take what the replica says of itself; what we sent ourselves is counted already."""
        self._others = max(0, reported.running + reported.waiting - self.calls)
        self._reported_at = now

    def state(self, now: float) -> ReplicaState:
        """How it is, for operators."""
        return ReplicaState(
            self.info.name,
            self.breaker.view(now).state,
            self.calls,
            int(self.limit.value),
            round(self.tokens),
            max(0.0, self.cooling_until - now),
            self.first_token_in(1000.0),
            self.speed.per_token(self.calls + 1),
        )

    def take(self, out: Out) -> None:
        """A call went there."""
        self.out[out.job.id] = out
        self.prefill_tokens += out.uncached
        self.tokens += out.job.prompt_tokens + out.output
        self.served += 1 / self.info.weight
        self.prefixes.sent(out.job.blocks)

    def first_token(self, out: Out, now: float) -> None:
        """A call's first token came."""
        out.first_at = now
        out.calls_at_first = self.calls
        self.prefill_tokens = max(0.0, self.prefill_tokens - out.uncached)
        seconds = now - out.sent
        self.speed.saw_first_token(out.ahead, seconds)

    def finished(self, out: Out, output_tokens: int, now: float) -> None:
        """A call's answer is whole."""
        self.gone(out)
        self.felt(now - out.sent, now)
        if output_tokens > 1:
            seconds = (now - out.first_at) / (output_tokens - 1)
            running = (out.calls_at_first + self.calls + 1) / 2
            self.speed.saw_tokens(running, seconds)
            self.limit.saw(seconds, self.calls + 1)

    def failed(self, out: Out, now: float) -> None:
        """A call failed there."""
        self.gone(out)
        self.felt(max(now - out.sent, PENALTY), now)

    def gone(self, out: Out) -> None:
        """A call is not there any more."""
        if self.out.pop(out.job.id, None) is None:
            return
        if not out.first_at:
            self.prefill_tokens -= out.uncached
        self.tokens -= out.job.prompt_tokens + out.output
        if not self.out:
            self.prefill_tokens = self.tokens = 0.0


def distance(job: Job, replica: Replica, home: tuple[str, str, str]) -> int:
    """How far a replica is: 0 the same host, 1 the same rack, 2 the same region, 3 elsewhere. ``home`` is our own place."""
    host, rack, region = home
    if host and replica.info.host == host:
        return 0
    if rack and replica.info.rack == rack:
        return 1
    return 2 if replica.info.region == (job.region or region) else 3


def by_size(fraction: float) -> float:
    """A fraction above zero, on a scale on which each halving counts the same, 0..1."""
    return max(0.0, min(1.0, 1 + log(max(fraction, 1e-9)) / log(1024)))


class Fleet:
    """All replicas of one deployment."""

    def __init__(self, infos: Sequence[ReplicaInfo], breaker: BreakerPolicy, now: float) -> None:
        self.typical = Speed()
        self.replicas = [Replica(index, info, self.typical, breaker, now) for index, info in enumerate(infos)]

    def __len__(self) -> int:
        return len(self.replicas)
