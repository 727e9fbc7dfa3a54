"""Composes the schedulers of the routes that the settings name."""

import asyncio
from collections.abc import Mapping, Sequence

from antiphon.config import ProviderSettings, RouteSettings, Settings, TierSettings
from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.core.clock import SystemClock
from antiphon.core.ports import Model
from antiphon.dispatch.coordinator.schedules.worker_desks import WorkerDesks
from antiphon.dispatch.definition import Definition
from antiphon.dispatch.degraded import Ways
from antiphon.dispatch.describe import BLOCK_TOKENS, Describer
from antiphon.dispatch.directory import Directory
from antiphon.dispatch.load_polls import LoadPolls, LoadSource
from antiphon.dispatch.promise import Promise
from antiphon.dispatch.scheduled import Scheduled
from antiphon.execution.executor.template import Template
from antiphon.scheduling.choice import named
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.settings import (
    DegradeSettings,
    HealthSettings,
    LimitSettings,
    QueueSettings,
    RetrySettings,
    SchedulerSettings,
)


class Routes:
    """Puts a scheduler in front of the replicas of each name that has a route."""

    def __init__(self, settings: Settings, desks: WorkerDesks, load_sources: Mapping[str, LoadSource]) -> None:
        self._load_sources = load_sources
        """Where replicas tell their load, by name, as far as they do."""
        self._routes = {route.name: route for route in settings.routes}
        self._providers = {provider.name: provider for provider in settings.providers}
        self._tiers = {key.name: key.tier for key in settings.server.keys if key.tier is not None}
        self._desks = desks
        self._clock = SystemClock()
        self.definitions: set[bytes] = set()
        """Of all schedulers that these settings want."""
        self._ways: list[Ways] = []
        self._polls: list[LoadPolls] = []

    def __call__(self, name: str, members: Sequence[Model]) -> Model | None:
        """The scheduled Model of that name; None where it has no route."""
        route = self._routes.get(name)
        if route is None:
            return None
        infos = tuple(replica_info(member.name, route, self._providers) for member in members)
        weights = tuple((policy.name, policy.weight) for policy in route.policy)
        definition = Definition(name, infos, weights, scheduler_settings(route))
        self.definitions.add(definition.key)
        desk = self._desks.desk(definition)
        sources = {number: self._load_sources[info.name] for number, info in enumerate(infos) if info.name in self._load_sources}
        if sources and route.poll_load:
            self._polls.append(LoadPolls(sources, desk, route.poll_load, self._clock, asyncio.get_running_loop().call_later))
        return Scheduled(name, members, desk, self._clock, describer(route, self._tiers), self._way_down(route))

    def complete(self, directory: Directory) -> None:
        """Find the lighter models, once every name stands for something. Raises ModelNotFound."""
        for ways in self._ways:
            ways.model = directory.model_for(ways.name)

    def start_polls(self) -> None:
        """Ask replicas for their load from now on."""
        for polls in self._polls:
            polls.start()

    def stop_polls(self) -> None:
        """Ask them no more."""
        for polls in self._polls:
            polls.stop()

    def _way_down(self, route: RouteSettings) -> Ways | None:
        """What may answer in place of a route's replicas."""
        degrade = route.degrade
        if not (degrade.model or degrade.template):
            return None
        ways = Ways(degrade.model, Template(degrade.template) if degrade.template else None)
        if ways.name:
            self._ways.append(ways)
        return ways


def replica_info(name: str, route: RouteSettings, providers: Mapping[str, ProviderSettings]) -> ReplicaInfo:
    """What is known of a replica, ``provider/model``, from its row of the configuration."""
    limits = LimitSettings(route.max_calls, min(route.min_calls, route.max_calls), route.max_tokens, route.adaptive)
    provider = providers.get(name.partition("/")[0])
    if provider is None:
        return ReplicaInfo(name, limits=limits)
    return ReplicaInfo(name, provider.weight, provider.region, provider.rack, provider.host, limits)


def scheduler_settings(route: RouteSettings) -> SchedulerSettings:
    """A route's settings in the scheduler's words."""
    tiers = (route.p0, route.p1, route.p2)
    breaker = route.breaker
    return SchedulerSettings(
        queue=QueueSettings(
            route.max_waiting,
            max_wait=(route.p0.max_wait, route.p1.max_wait, route.p2.max_wait),
            floors=(0.0, route.p1.floor, route.p2.floor),
            headroom=(route.p0.headroom, route.p1.headroom, route.p2.headroom),
            patience=max(tier.max_wait for tier in tiers),
            backlog=route.backlog,
            shed_from=route.shed_from,
        ),
        retries=RetrySettings(attempts=route.attempts, budget=route.retry_budget, hedge_budget=route.hedge_budget),
        breaker=BreakerPolicy(
            breaker.window, breaker.failure_rate, breaker.minimum_calls, breaker.open_for, breaker.trials, breaker.recovery
        ),
        health=HealthSettings(breaker.first_token_over, breaker.token_over, longest_rest=max(240.0, breaker.open_for)),
        degrade=degrade_settings(route),
        block_tokens=BLOCK_TOKENS,
    )


def degrade_settings(route: RouteSettings) -> DegradeSettings:
    """When a route's calls go down, in the scheduler's words."""
    degrade = route.degrade
    return DegradeSettings(
        bool(degrade.model),
        bool(degrade.template),
        degrade.below,
        degrade.template_below,
        degrade.margin,
        degrade.minimum_calls,
        degrade.probe,
        degrade.when_busy,
    )


def describer(route: RouteSettings, tiers: Mapping[str, int]) -> Describer:
    """What a route's scheduler is told of calls."""
    return Describer(
        route.tier,
        tuple(map(promise, (route.p0, route.p1, route.p2))),
        tiers,
        realtime=route.realtime,
        prefixes=any(named(policy.name).prefixes for policy in route.policy),
    )


def promise(tier: TierSettings) -> Promise:
    """When the answers of a tier are due."""
    return Promise(tier.first_token_within, tier.answer_within)
