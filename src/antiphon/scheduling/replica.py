"""One replica: the work that is out there, how fast it is, and whether it is well."""

from collections import deque
from math import exp, inf
from typing import Final

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.core.schedules import ReplicaState
from antiphon.scheduling.fairness import Demand
from antiphon.scheduling.info import ReplicaInfo, Reported
from antiphon.scheduling.job import Job
from antiphon.scheduling.lengths import PRIOR
from antiphon.scheduling.limits import AdaptiveLimit
from antiphon.scheduling.prefix import Holders, PrefixIndex
from antiphon.scheduling.speed import Speed

METRICS_COUNT_FOR: Final = 5.0
"""Seconds after which what a replica said of its load is believed no more."""
PEAK_DECAY: Final = 10.0
"""Seconds in which a peak of latency falls to 1/e."""
HIGHS_KEPT_FOR: Final = 45.0
"""Seconds for which it is known how many calls were out: longer than what a replica tells of its load may be old."""
FAILURE_SHARE: Final = 0.2
"""What a call counts for in the share of failed ones."""
SILENCE: Final = 30.0
"""Seconds without a call after which what was learned of a replica's speed is doubted."""
PROMPT_PRIOR: Final = 512.0
"""Tokens that a prompt is taken to have before any was seen."""
PENALTY: Final = 10.0
"""Seconds that an error counts as, so that fast errors draw nobody."""


class Out:
    """A call at a replica."""

    __slots__ = (
        "ahead",
        "calls_at_first",
        "first_at",
        "hedge",
        "job",
        "judged",
        "late_at",
        "output",
        "sent",
        "trial",
        "uncached",
    )

    def __init__(self, job: Job, sent: float, uncached: float, ahead: float, output: float, *, hedge: bool = False) -> None:
        self.job = job
        self.sent = sent
        self.uncached = uncached
        """Prompt tokens that it has to prefill, as far as known."""
        self.ahead = ahead
        """Uncached prompt tokens out at the replica when it was sent, its own among them."""
        self.output = output
        """Answer tokens, by estimate."""
        self.first_at = -1.0
        """When its first token came; negative before."""
        self.calls_at_first = 0.0
        """Calls at the replica then, others' too."""
        self.trial = 0
        """Number of its trial, where the breaker was half open."""
        self.late_at = inf
        """When its first token is late."""
        self.judged = False
        """Its replica's breaker was told of it."""
        self.hedge = hedge


class Most:
    """The highest that a number was since some moment of the last seconds."""

    __slots__ = ("_highs",)

    def __init__(self) -> None:
        self._highs: deque[tuple[float, float]] = deque()
        """Until when it was so high; each entry is later and lower than the one before."""

    def fell(self, number: float, now: float) -> None:
        """It was so high until now, and is lower."""
        highs = self._highs
        while highs and highs[-1][1] <= number:
            highs.pop()
        highs.append((now, number))
        while highs[0][0] < now - HIGHS_KEPT_FOR:
            highs.popleft()

    def since(self, moment: float, number: float) -> float:
        """The highest since that moment; ``number`` is what it is now."""
        for until, high in self._highs:
            if until >= moment:
                return max(high, number)  # what comes before ended too early, and what comes behind is lower
        return number


class CallSize:
    """Tokens of a call as it usually is: what others' calls, of which only the number is known, are taken to be."""

    __slots__ = ("_seen", "output", "prompt", "uncached")

    def __init__(self) -> None:
        self._seen = False
        self.prompt = self.uncached = PROMPT_PRIOR
        self.output = PRIOR

    def saw(self, prompt: float, uncached: float, output: float) -> None:
        """One more call."""
        share = 0.02 if self._seen else 1.0
        self._seen = True
        self.prompt += share * (prompt - self.prompt)
        self.uncached += share * (uncached - self.uncached)
        self.output += share * (output - self.output)


class Shared:
    """What the replicas of a fleet have in common."""

    __slots__ = ("calls", "demand", "holders", "size", "typical")

    def __init__(self) -> None:
        self.calls = 0
        """Calls that are out."""
        self.demand = Demand()
        self.typical = Speed()
        self.size = CallSize()
        self.holders = Holders()


class Replica:
    """One replica: what is out there, how fast it is, and whether it is well."""

    def __init__(self, index: int, info: ReplicaInfo, shared: Shared, breaker: BreakerPolicy, now: float) -> None:
        self.index = index
        self.info = info
        self.joined = now
        """When it came; long ago where it was there from the beginning."""
        self.leaving = False
        """It gets no more calls; those that it has go on."""
        self.speed = Speed(shared.typical)
        self.limit = AdaptiveLimit(info.limits)
        self.prefixes = PrefixIndex(info.cache_blocks, shared.holders, index)
        self.breaker = Breaker()
        self.breaker_policy = breaker
        self.cooling_until = 0.0
        """It asked to be left alone until then (retry-after)."""
        self.unreachable = 0
        """Times in a row that it could not be reached at all."""
        self.doubted = False
        """One call is to show how fast it is now."""
        self._heard_at = now
        self.trips = 0
        """Times that its breaker opened since it was last closed for good."""
        self.out: dict[int, Out] = {}
        self.prefill_tokens = 0.0
        """Uncached prompt tokens that are not prefilled yet."""
        self.awaited = 0
        """Calls that wait for this very replica."""
        self.tokens = 0.0
        """Tokens of the prompts and expected answers that are out."""
        self.answers = 0.0
        """Tokens of the expected answers that are out."""
        self.served = 0.0
        """Calls sent there, divided by its weight: for taking turns."""
        self._shared = shared
        self._failures = 0.0
        self._answer_time = 0.0
        self._peak = 0.0
        self._peak_at = now
        self._others = 0
        self._others_waiting = 0
        self._others_tokens = -1.0
        """Tokens in its memory that others' calls need; negative where it does not tell."""
        self._others_prefill = 0.0
        """Prompt tokens of others' running calls that are not prefilled yet, as expected."""
        self._most_calls = Most()
        self._most_tokens = Most()
        self._reported_at = -inf

    @property
    def calls(self) -> int:
        """Calls that we have out there."""
        return len(self.out)

    # -- how much is there

    def others(self, now: float) -> float:
        """Calls there that are not ours, as far as it told lately. What it told fades, so that nobody herds after stale numbers."""
        return self._others * self._fresh(now) if self._others else 0.0

    def load(self, now: float) -> float:
        """Calls there: ours, and others'."""
        return len(self.out) + self.others(now)

    def held(self, now: float) -> float:
        """Tokens of prompts and expected answers there, ours and others': what takes its memory."""
        if self._others_tokens >= 0:
            return self.tokens + self._others_tokens * self._fresh(now)
        return self.tokens + self.others(now) * (self._shared.size.prompt + self._shared.size.output)

    def work(self, now: float) -> float:
        """Tokens there that are still to be prefilled or decoded, ours and others'."""
        return self.backlog(now) + self.answers + self.others(now) * self._shared.size.output

    def backlog(self, now: float) -> float:
        """Uncached prompt tokens there that are not prefilled yet, ours and others'."""
        if not self._others:
            return self.prefill_tokens
        ahead = self._others_waiting * self._shared.size.uncached + self._others_prefill
        return self.prefill_tokens + ahead * self._fresh(now)

    def _fresh(self, now: float) -> float:
        return max(0.0, 1 - (now - self._reported_at) / METRICS_COUNT_FOR)

    def uncached(self, job: Job, block_tokens: int) -> float:
        """Tokens of the job's prompt that would have to be prefilled here."""
        if not job.blocks:
            return float(job.prompt_tokens)
        return max(1.0, job.prompt_tokens - self.prefixes.hits(job.blocks) * block_tokens)

    def first_token_in(self, uncached: float, now: float) -> float:
        """Seconds to the first token of a call that came now."""
        return self.speed.first_token(self.backlog(now) + uncached)

    def answer_in(self, uncached: float, output: float, now: float) -> float:
        """Seconds to the whole answer of a call that came now."""
        return self.speed.answer(self.backlog(now) + uncached, output, self.load(now) + 1)

    def fits(self, job: Job, share: float, output: float, now: float) -> bool:
        """Whether it may have one more call; ``share`` of its places are for this kind of call."""
        if not self.out:
            return True
        most = self.info.limits.max_tokens
        if most and self.held(now) + job.prompt_tokens + output > most:
            return False
        return self.has_room(now, share) and not self.doubted

    def has_room(self, now: float, share: float = 1.0) -> bool:
        """Whether one more call is within its limit. Others' calls count, but leave room for those that it may always have."""
        return self._beyond(max(1.0, self.limit.value * share), now) < 0

    def _beyond(self, most: float, now: float) -> float:
        """Calls by which it is beyond a limit, or beyond those of ours that it may always have, whichever is less."""
        return min(self.load(now) - most, len(self.out) - min(float(self.info.limits.min_calls), most))

    def place_in(self, now: float) -> float:
        """Seconds until it may have one more call; 0 where it may now. Each of those that wait for its sake comes before."""
        if not self.out:
            return 0.0
        over = self._beyond(self.limit.value, now) + self.awaited
        return self._answer_time * (over + 1) / max(1.0, self.load(now)) if over >= 0 else 0.0

    # -- how it is

    def well(self, now: float) -> bool:
        """Whether calls should go there."""
        return now >= self.cooling_until and self.breaker.admits(self.breaker_policy, now)

    def rests_until(self, now: float) -> float:
        """Until when it may not be asked; that is past where it may."""
        view = self.breaker.view(now)
        if view.state == "open":
            return max(self.cooling_until, view.until)
        if view.state == "half_open" and not self.breaker.admits(self.breaker_policy, now):
            return max(self.cooling_until, now + self.breaker.retry_after(now))
        return self.cooling_until

    def latency(self, now: float) -> float:
        """Seconds of its calls: peaks at once, and fading after (peak EWMA, of Twitter's Finagle)."""
        return self._peak * exp(-(now - self._peak_at) / PEAK_DECAY) if self._peak else 0.0

    def failures(self, now: float) -> float:
        """Share of its last calls that failed, 0..1; it fades, so that a replica is tried again."""
        return self._failures * exp(-(now - self._peak_at) / PEAK_DECAY) if self._failures else 0.0

    def disappointed(self, seconds: float, now: float) -> None:
        """A call failed, or should have been further by now: that counts as if it had taken so long."""
        self._failures += FAILURE_SHARE * (1 - self._failures)
        self.felt(seconds, now)

    def felt(self, seconds: float, now: float) -> None:
        """A call took so long, or is booked as if it had."""
        faded = exp(-(now - self._peak_at) / PEAK_DECAY)
        self._peak = max(seconds, self._peak * faded + seconds * (1 - faded))
        self._peak_at = now

    def told(self, reported: Reported, now: float, since: float = inf) -> None:
        """Take what the replica says of itself; what we sent ourselves is counted already.

        It counted at some moment between ``since`` and now, and nobody knows when. A call of ours is there only while it is out:
        it is sent before it arrives, and its end is heard after it has left. So of the calls that it counted no more are ours
        than were out at that moment, and no more than the most that were out at any moment since. That many are taken off:
        what is left over is others' for certain, however old the answer is. Where calls of ours ended meanwhile, as many of
        others' may be overlooked, until it tells the next time. Of those that wait there, ours may be all that had no first
        token at ``since``, and all that were out then and are gone.
        """
        calls = len(self.out)
        ours = int(self._most_calls.since(since, calls))
        waiting = ours - calls + sum(1 for out in self.out.values() if out.first_at < 0 or out.first_at >= since)
        self._others = max(0, reported.running + reported.waiting - ours)
        self._others_waiting = min(self._others, max(0, reported.waiting - waiting))
        self._others_tokens = -1.0
        if reported.tokens >= 0:
            tokens = reported.tokens - self._most_tokens.since(since, self.tokens)
            self._others_tokens = max(0.0, tokens) if self._others else 0.0
        self._reported_at = now
        self._others_prefill = self._expected_prefill(self._others - self._others_waiting, now)

    def _expected_prefill(self, running: int, now: float) -> float:
        """Prompt tokens of so many running calls of others that are not prefilled yet, expected from the memory that they hold.

        A call that is looked at by chance is in its prefill with the share that this has in all its time, and halfway through on
        the mean. For usual calls that comes to next to nothing. For the very long prompt that keeps whoever comes next waiting it
        does not, and nothing else that a replica tells shows it: it counts as one running call like any other.
        """
        if not running or self._others_tokens <= 0:
            return 0.0
        tokens = self._others_tokens / running
        prefill = self.speed.first_token(tokens)
        whole = prefill + self.speed.per_token(self.load(now) + 1) * self._shared.size.output
        return running * tokens / 2 * prefill / whole if whole > 0 else 0.0

    def doubt(self, now: float) -> None:
        """What was learned of its speed may be out of date: one call will tell."""
        self.speed.doubt()
        self.doubted = self.speed.known
        self._heard_at = now

    def doubt_after_silence(self, now: float) -> None:
        """Nobody has chosen it for long, perhaps because it was slow once."""
        if now - self._heard_at > SILENCE and not self.out:
            self.doubt(now)

    def state(self, now: float) -> ReplicaState:
        """How it is, for operators."""
        return ReplicaState(
            self.info.name,
            self.breaker.view(now).state,
            self.calls,
            int(self.limit.value),
            round(self.tokens),
            max(0.0, self.cooling_until - now),
            self.first_token_in(1000.0, now),
            self.speed.per_token(self.load(now) + 1),
            self._others if self._fresh(now) > 0 else None,
        )

    # -- what happens there

    def take(self, out: Out) -> None:
        """A call went there."""
        self.out[out.job.id] = out
        self._shared.calls += 1
        self._shared.demand.sent(out.job.tenant)
        self.prefill_tokens += out.uncached
        self.tokens += out.job.prompt_tokens + out.output
        self.answers += out.output
        self.served += 1 / self.info.weight
        self.prefixes.sent(out.job.blocks)
        self._shared.size.saw(out.job.prompt_tokens, out.uncached, out.output)

    def adopt(self, job: Job, output: float, *, began: bool, now: float) -> None:
        """A call is there already. Nobody knows since when, so it says nothing of the replica."""
        uncached = 0.0 if began else float(job.prompt_tokens)
        ahead = self.backlog(now) + uncached
        out = Out(job, now, uncached, ahead, output)
        out.judged = True
        if began:
            out.first_at, out.calls_at_first = now, self.load(now)
        self.take(out)

    def first_token(self, out: Out, now: float) -> None:
        """A call's first token came."""
        out.first_at = now
        out.calls_at_first = self.load(now)
        self.unreachable = 0
        self._heard_at = now
        self.prefill_tokens = max(0.0, self.prefill_tokens - out.uncached)
        self.speed.saw_first_token(out.ahead, now - out.sent)

    def finished(self, out: Out, output_tokens: int, now: float) -> None:
        """A call's answer is whole."""
        self.gone(out, now)
        self.doubted = False
        self.felt(now - out.sent, now)
        self._failures -= FAILURE_SHARE * self._failures
        seconds = now - out.sent
        self._answer_time += 0.1 * (seconds - self._answer_time) if self._answer_time else seconds
        if output_tokens > 1 and out.first_at >= 0:
            seconds = (now - out.first_at) / (output_tokens - 1)
            there = self.load(now) + 1
            self.speed.saw_tokens((out.calls_at_first + there) / 2, seconds)
            self.limit.saw(seconds, int(there))

    def failed(self, out: Out, now: float) -> None:
        """A call failed there."""
        self.gone(out, now)
        self.disappointed(max(now - out.sent, PENALTY), now)

    def gone(self, out: Out, now: float) -> None:
        """A call is not there any more."""
        if self.out.pop(out.job.id, None) is None:
            return
        self._most_calls.fell(len(self.out) + 1, now)
        self._most_tokens.fell(self.tokens, now)
        self._shared.calls -= 1
        self._shared.demand.back(out.job.tenant)
        if out.first_at < 0:
            self.prefill_tokens = max(0.0, self.prefill_tokens - out.uncached)
        self.tokens -= out.job.prompt_tokens + out.output
        self.answers -= out.output
        if not self.out:
            self.prefill_tokens = self.tokens = self.answers = 0.0


def distance(job: Job, replica: Replica, home: tuple[str, str, str]) -> int:
    """How far a replica is: 0 the same host, 1 the same rack, 2 the same region, 3 elsewhere. ``home`` is our own place."""
    host, rack, region = home
    info = replica.info
    if host and info.host == host:
        return 0
    if rack and info.rack == rack:
        return 1
    wanted = job.region or region
    return 2 if wanted and info.region == wanted else 3
