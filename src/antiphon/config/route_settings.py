"""How the calls of one name are scheduled: which replica answers, when, and what gives way."""

from typing import Annotated

import msgspec
from msgspec import Meta

Weight = Annotated[float, Meta(gt=0, le=1e6)]
Share = Annotated[float, Meta(ge=0, le=1)]
Wait = Annotated[float, Meta(gt=0, le=86400)]
Within = Annotated[float, Meta(ge=0, le=86400)]
Tier = Annotated[int, Meta(ge=0, le=2)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
PolicyName = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,63}$", description="the name of a policy, of small letters, digits, '_' and '-'")
]
RouteName = Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]{1,256}$", description="the name of a model or an alias")]


class PolicySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy and its weight. A plain text is short for ``name``."""

    name: PolicyName
    """Name of the policy: ``balanced``, ``prefix``, ``least-tokens``, or that of a plugin."""
    weight: Weight = 1.0
    """What its score counts for beside the others'."""


class TierSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a service tier is promised, and what it leaves to others."""

    first_token_within: Within = 0.0
    """Seconds in which a call's first token is due, where it names no time itself; 0 promises nothing."""
    answer_within: Within = 0.0
    """Seconds in which a call's whole answer is due, where it names no time itself; 0 promises nothing. What can no longer be on
    time is refused at once."""
    max_wait: Wait = 30.0
    """Seconds that a call may wait for a replica; then it is refused."""
    floor: Share = 0.0
    """Share of the served tokens that this tier gets at least while it waits, whatever the tiers above it want."""
    headroom: Share = 0.0
    """Share of a replica's places that this tier leaves free for those above it."""


class BreakerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a replica that fails is left alone (M. Nygard, Release It!, chapter 5)."""

    window: Wait = 10.0
    """Seconds of calls that are looked at."""
    failure_rate: Annotated[float, Meta(gt=0, le=1)] = 0.6
    """Share of failed calls in the window from which on the replica gets none."""
    minimum_calls: Count = 4
    """Calls in the window below which nothing is concluded."""
    open_for: Wait = 30.0
    """Seconds that it is left alone."""
    trials: Count = 5
    """Calls that it then gets to show how it is."""
    recovery: Annotated[float, Meta(gt=0, le=1)] = 0.6
    """Share of these that must succeed."""
    first_token_over: Within = 0.0
    """Seconds after which a first token is so late that its call counts as failed; 0 judges by the other replicas alone."""
    token_over: Within = 0.0
    """Seconds that a token may take, on the mean of an answer, before its call counts as failed; 0 judges by the others alone."""


class DegradeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What answers when the route's own replicas are not well, by their health score: the share of calls that did well.

    Callers are told in the header ``x-antiphon-degraded``.
    """

    model: str = ""
    """A lighter model that answers then: a model, an alias, ``provider/model``, or another route. Empty means none."""
    template: str = ""
    """A fixed text that is the answer of chats and completions when it is worse, or when the lighter model fails too. Empty means
    none."""
    below: Share = 0.95
    """Health score below which ``model`` answers."""
    template_below: Share = 0.8
    """Health score below which ``template`` does."""
    margin: Share = 0.02
    """By how much the score must be above these before the way back up is taken."""
    minimum_calls: Count = 10
    """Calls in ``breaker.window`` below which nothing is concluded."""
    probe: Share = 0.05
    """Share of the calls that still go to the route's own replicas, to see whether they are well again."""
    when_busy: bool = False
    """Also degrade calls that would be refused because they cannot be on time, have waited for too long, or find the queue full."""


class RouteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the calls of one name are scheduled over the providers that serve it."""

    name: RouteName
    """A model or an alias. All providers that serve it, or that the alias leads to, are its replicas."""
    policy: Annotated[tuple[PolicySettings, ...], Meta(min_length=1)] = (PolicySettings("balanced"),)
    """Which replica a call goes to: a policy, or several with weights. The first one says how calls wait: most policies keep one
    queue in front of all replicas; ``round-robin`` and ``least-conn`` send each call out at once."""
    tier: Tier = 1
    """Service tier of calls that name none (``x-antiphon-tier``): 0 holds while 1 and 2 give way, and 1 while 2 does."""
    realtime: bool = False
    """Calls that do not say (``x-antiphon-class``) are served in order of arrival, before those that only have a deadline."""
    p0: TierSettings = TierSettings()
    """Tier 0."""
    p1: TierSettings = TierSettings(floor=0.1, headroom=0.03)
    """Tier 1."""
    p2: TierSettings = TierSettings(floor=0.05, headroom=0.06)
    """Tier 2."""
    max_waiting: Annotated[int, Meta(ge=0, le=10_000_000)] = 10_000
    """Calls that may wait; one more is refused."""
    max_calls: Count = 256
    """Calls that a replica has at once, at most."""
    min_calls: Count = 4
    """Calls that a replica may always have at once, as far as ``max_calls`` allows."""
    max_tokens: Annotated[int, Meta(ge=0)] = 0
    """Tokens of prompts and answers that a replica has at once, at most; 0 means any."""
    adaptive: bool = True
    """Find out how many calls each replica bears, between ``min_calls`` and ``max_calls``, from how fast it answers."""
    backlog: Wait = 0.25
    """Seconds of prompts that a replica gets ahead; the rest waits where its order can still change."""
    shed_from: Share = 0.5
    """Share of ``max_wait`` from which on calls below tier 0 are refused early, by chance: more of them the longer the wait is."""
    attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    """Replicas that one call is sent to, at most, when they fail before they have begun to answer."""
    retry_budget: Share = 0.2
    """Retries, as a share of the calls."""
    hedge_budget: Share = 0.0
    """Calls, as a share of all, that are asked of a second replica when the first has been silent for longer than it is with 95% of
    calls like it; 0 does not."""
    poll_load: Annotated[float, Meta(ge=0, le=5)] = 1.0
    """Seconds after which each replica is asked again how busy it is, so that calls count which others send there: 0.1 to 5, or 0,
    which does not ask. Those are asked whose ``protocol`` has a page for it: ``vllm``, ``sglang``, ``llama_cpp`` and ``tgi``."""
    breaker: BreakerSettings = BreakerSettings()
    """When a replica that fails is left alone."""
    degrade: DegradeSettings = DegradeSettings()
    """What answers when they are not well."""
