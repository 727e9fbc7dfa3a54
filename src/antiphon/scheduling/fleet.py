"""The replicas of one deployment, and which of them may be asked."""

from collections.abc import Sequence
from heapq import heappop, heappush
from math import ceil, inf
from typing import Final

from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.core.schedules import ReplicaState
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Job
from antiphon.scheduling.replica import Replica, Shared
from antiphon.scheduling.ring import Ring

MANY: Final = 4
"""Replicas from which on some are kept free of a dominant tenant."""
ROOM: Final = 2.5
"""Times the places that the other tenants take which are kept free for them."""


class Members:
    """Replicas by number, of which some are looked at: adding, removing and each look take the same time however many there are."""

    __slots__ = ("_order", "_places")

    def __init__(self) -> None:
        self._order: list[int] = []
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, index: int) -> bool:
        return index in self._places

    def place(self, index: int) -> int:
        """Where it stands among them."""
        return self._places.get(index, -1)

    def put(self, index: int, there: bool) -> None:
        """Let it be a member, or not."""
        place = self._places.get(index, -1)
        if there and place < 0:
            self._places[index] = len(self._order)
            self._order.append(index)
        elif not there and place >= 0:
            last = self._order.pop()
            del self._places[index]
            if last != index:
                self._order[place] = last
                self._places[last] = place

    def some(self, most: int, chance: float) -> list[int]:
        """All of them, or ``most`` neighbours from a place that ``chance`` (0..1) says."""
        order = self._order
        count = len(order)
        if count <= most:
            return list(order)
        start = int(chance * count)
        return [order[(start + step) % count] for step in range(most)]


class Fleet:
    """All replicas of one deployment. ``refresh`` keeps up to date who may be asked, so that nobody has to look at all of them."""

    def __init__(self, breaker: BreakerPolicy, *, backlog: float, panic: float) -> None:
        self.shared = Shared()
        self.typical = self.shared.typical
        """How fast a replica is on average."""
        self.replicas: list[Replica] = []
        """By number. The place of one that has left is given to another later."""
        self.ring = Ring()
        self._near: dict[tuple[str, str], list[int]] = {}
        self.usable = Members()
        """Those that may be asked at all."""
        self.open = Members()
        """Those of them that have room."""
        self.breaker = breaker
        self.backlog = backlog
        self.panic_below = panic
        self.mean_weight = 1.0
        self.panic = False
        """So many are sick that all of them count as well: that looks like a fault of ours."""
        self._count = 0
        self._sick: set[int] = set()
        self._recoveries: list[tuple[float, int]] = []

    def __len__(self) -> int:
        """Replicas that have not left."""
        return self._count

    @property
    def all_sick(self) -> bool:
        """No breaker lets a call pass."""
        return 0 < self._count == len(self._sick)

    @property
    def calls(self) -> int:
        """Calls that are out at all of them."""
        return self.shared.calls

    # -- who is where

    def holders(self, blocks: Sequence[int]) -> list[int]:
        """Replicas with the longest part of a prompt in their caches, those first that have room."""
        held = self.shared.holders.of(blocks)
        return sorted(held, key=lambda index: (index not in self.open, index)) if len(held) > 1 else list(held)

    def near(self, job: Job, home: tuple[str, str, str], most: int) -> list[int]:
        """Some of the replicas that are nearest, each call's beginning with another one."""
        host, rack, region = home
        for place in (("host", host), ("rack", rack), ("region", job.region or region)):
            there = self._near.get(place) if place[1] else None
            if there:
                return [there[(job.id + step) % len(there)] for step in range(min(most, len(there)))]
        return []

    def states(self, now: float) -> tuple[ReplicaState, ...]:
        """How each is, for operators."""
        return tuple(replica.state(now) for replica in self.replicas if not replica.leaving)

    def kept_from(self, tenant: str) -> int:
        """Usable replicas, the first ones, that a tenant is kept off because it asks for more than all others: what those need."""
        demand, usable = self.shared.demand, len(self.usable)
        if not demand.dominates or tenant != demand.dominant or usable < MANY:
            return 0
        places = sum(self.replicas[index].limit.value for index in self.usable.some(MANY, 0.0)) / MANY
        return min(usable // 2, ceil(ROOM * (demand.others_out + 1) / max(1.0, places)))

    # -- who is there

    def set(self, infos: Sequence[ReplicaInfo], now: float, *, fresh: bool) -> None:
        """Make these the replicas, told apart by name. Those that stay keep what is known of them; ``fresh`` ones start slowly."""
        known = {replica.info.name: replica for replica in self.replicas if not replica.leaving}
        wanted = {info.name for info in infos}
        for name, replica in known.items():
            if name not in wanted:
                replica.leaving = True
                replica.prefixes.clear()
        turn = min((replica.served for replica in known.values() if not replica.leaving), default=0.0)
        for info in infos:
            there = known.get(info.name)
            if there is not None:
                there.info = info
                there.limit.settings = info.limits
                there.prefixes.resize(info.cache_blocks)
                there.breaker_policy = self.breaker
                continue
            index = next((old.index for old in self.replicas if old.leaving and not old.out), len(self.replicas))
            replica = Replica(index, info, self.shared, self.breaker, now)
            if not fresh:
                replica.joined = -inf
            replica.served = turn
            self.replicas[index : index + 1] = [replica]
        members = {replica.index: replica.info.name for replica in self.replicas if not replica.leaving}
        self._count = len(members)
        self.mean_weight = sum(self.replicas[index].info.weight for index in members) / max(1, self._count)
        self._sick &= members.keys()
        self.ring.set(members)
        self._near = {}
        for index in members:
            info = self.replicas[index].info
            for place in (("host", info.host), ("rack", info.rack), ("region", info.region)):
                self._near.setdefault(place, []).append(index)
        for replica in self.replicas:
            self.refresh(replica, now)

    # -- who may be asked

    def refresh(self, replica: Replica, now: float) -> None:
        """Something happened at a replica: look anew whether it may be asked."""
        if not self._sick and replica.breaker.closed:
            self._place(replica, now)
            return
        sick = not replica.leaving and not replica.breaker.admits(replica.breaker_policy, now)
        if sick != (replica.index in self._sick):
            if sick:
                self._sick.add(replica.index)
            else:
                self._sick.discard(replica.index)
        panic = self._panics()
        if panic != self.panic:
            self.panic = panic
            for each in self.replicas:
                self._place(each, now)
        else:
            self._place(replica, now)

    def _panics(self) -> bool:
        """The only replica of a fleet has none to give way to."""
        return bool(self._sick) and self._count > 1 and self._count - len(self._sick) < self.panic_below * self._count

    def _place(self, replica: Replica, now: float) -> None:
        index = replica.index
        usable = not replica.leaving and now >= replica.cooling_until and (self.panic or index not in self._sick)
        if usable != (index in self.usable):
            self.usable.put(index, usable)
        is_open = usable and self._has_room(replica, now)
        if is_open != (index in self.open):
            self.open.put(index, is_open)

    def _has_room(self, replica: Replica, now: float) -> bool:
        if not replica.out:
            return True
        return not replica.doubted and replica.has_room(now) and replica.speed.first_token(replica.backlog(now)) < self.backlog

    def recovers(self, replica: Replica, at: float) -> None:
        """A replica may be asked again at that moment."""
        heappush(self._recoveries, (at, replica.index))

    def next_recovery(self, now: float) -> float:
        """When the next one may be asked again, exactly; infinite where none is to be waited for."""
        while self._recoveries and self.replicas[self._recoveries[0][1]].rests_until(now) > self._recoveries[0][0] + 1e-9:
            heappop(self._recoveries)  # it rests for longer by now, which is noted further behind
        return self._recoveries[0][0] if self._recoveries else inf

    def next_look(self) -> float:
        """When ``recover`` has something to do at the latest."""
        return self._recoveries[0][0] if self._recoveries else inf

    def recover(self, now: float) -> None:
        """Look anew at those whose moment has come."""
        while self._recoveries and self._recoveries[0][0] <= now:
            replica = self.replicas[heappop(self._recoveries)[1]]
            if replica.breaker.view(now).state == "half_open":
                replica.doubt(now)
            self.refresh(replica, now)
