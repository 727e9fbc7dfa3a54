"""Any order of calls, deaths, restarts and time, against a model that just adds up."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from antiphon.core.ledger import Hold, Limit, Refusal, Reservation, Window
from antiphon.storage.memory_ledger import MemoryLedger
from antiphon.testing import FakeClock
from tests.unit.dispatch.coordinator.rig import BEGIN, Rig

MINUTE = Window("calendar", 60)
ACCOUNTS = {"money": Limit(1000), "places": Limit(3), "tokens": Limit(500, MINUTE)}
AMOUNTS = {"money": st.integers(0, 400), "places": st.integers(0, 2), "tokens": st.integers(0, 300)}
HOLDS = st.lists(st.sampled_from(sorted(ACCOUNTS)), min_size=1, max_size=3).flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(name), AMOUNTS[name]) for name in names))
)


class Model:
    """What counts: rows of (account, slot, amount), reserved by somebody who lives or settled by anybody."""

    def __init__(self):
        self.settled = {}
        self.open = {}
        self.dead = []
        self.idle = False
        """Somebody was killed, and its lease may still run."""

    def slot(self, name, now):
        return int(now // 60) if ACCOUNTS[name].window == MINUTE else 0

    def used(self, name, now, *, dead):
        slot = self.slot(name, now)
        rows = [row for rows in self.open.values() for row in rows] + (self.dead if dead else [])
        return self.settled.get((name, slot), 0) + sum(amount for account, at, amount in rows if (account, at) == (name, slot))


class MemoryMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.model = Model()
        self.reservations = []
        self.make()

    def make(self):
        self.clock = FakeClock(unix_time=BEGIN)
        self.ledgers = [MemoryLedger(self.clock)]

    def hear(self):
        """Let what was said arrive."""

    def exact(self):
        """Whether a refusal must have a reason in the model."""
        return True

    @property
    def now(self):
        return self.clock.time()

    @rule(wanted=HOLDS, who=st.integers(0, 9))
    def reserve(self, wanted, who):
        ledger = self.ledgers[who % len(self.ledgers)]
        self.hear()
        surely, maybe = self.fits(wanted, dead=True), self.fits(wanted, dead=False)
        exact = self.exact()
        told = []
        known = ledger.reserve([Hold(name, amount, ACCOUNTS[name]) for name, amount in wanted], told.append)
        self.hear()
        outcome = known if known is not None else told[0]
        self.took(ledger, wanted, outcome)
        if exact:
            # what lay idle with somebody who was killed comes back with the lease, and only that may be missing until then
            assert (surely and not self.model.idle) <= isinstance(outcome, Reservation) <= maybe, (wanted, outcome)

    @rule(burst=st.lists(st.tuples(HOLDS, st.integers(0, 9)), min_size=2, max_size=12))
    def reserve_at_once(self, burst):
        told = []
        for wanted, who in burst:
            ledger = self.ledgers[who % len(self.ledgers)]
            heard = []
            known = ledger.reserve([Hold(name, amount, ACCOUNTS[name]) for name, amount in wanted], heard.append)
            told.append((ledger, wanted, known, heard))
        self.hear()
        for ledger, wanted, known, heard in told:
            self.took(ledger, wanted, known if known is not None else heard[0])

    @precondition(lambda self: self.reservations)
    @rule(which=st.integers(0, 99), share=st.floats(0, 1), again=st.booleans())
    def settle(self, which, share, again):
        ledger, reservation = self.reservations.pop(which % len(self.reservations))
        rows = self.model.open.pop(id(reservation))
        amounts = [int(amount * share) for _, _, amount in rows]
        for (name, slot, _), amount in zip(rows, amounts, strict=True):
            self.model.settled[name, slot] = self.model.settled.get((name, slot), 0) + amount
        for _ in range(1 + again):
            ledger.settle(reservation, amounts)

    @precondition(lambda self: self.reservations)
    @rule(which=st.integers(0, 99))
    def release(self, which):
        ledger, reservation = self.reservations.pop(which % len(self.reservations))
        del self.model.open[id(reservation)]
        ledger.release(reservation)
        ledger.release(reservation)

    @rule(seconds=st.sampled_from([0.1, 3.0, 40.0]))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @invariant()
    def never_more_than_the_limit(self):
        for name, limit in ACCOUNTS.items():
            assert self.model.used(name, self.now, dead=False) <= limit.capacity, name

    def fits(self, wanted, *, dead):
        sums = {}
        for name, amount in wanted:
            sums[name] = sums.get(name, 0) + amount
        return all(
            not amount or self.model.used(name, self.now, dead=dead) + amount <= ACCOUNTS[name].capacity
            for name, amount in sums.items()
        )

    def took(self, ledger, wanted, outcome):
        if isinstance(outcome, Refusal):
            return
        self.reservations.append((ledger, outcome))
        self.model.open[id(outcome)] = [(name, self.model.slot(name, self.now), amount) for name, amount in wanted]

    def teardown(self):
        self.hear()
        if not self.exact():
            return
        for name, limit in ACCOUNTS.items():
            told = []
            self.ledgers[0].look(name, limit.window, told.append)
            self.hear()
            settled = self.model.settled.get((name, self.model.slot(name, self.now)), 0)
            assert told[0].settled == settled, (name, told, settled)


class CoordinatorMachine(MemoryMachine):
    def make(self):
        self.rig = Rig(eager=False)
        self.clock = self.rig.clock
        self.ledgers = [self.rig.worker().ledger for _ in range(3)]

    def hear(self):
        self.rig.pump()

    def exact(self):
        return self.rig.service is not None and all(wire.linked for wire in self.rig.wires if wire.alive)

    @initialize()
    def begin(self):
        self.hear()

    @rule(seconds=st.sampled_from([0.1, 3.0, 15.0, 40.0]))
    def time_passes(self, seconds):
        self.rig.pass_time(seconds)
        if seconds > 2 * self.rig.lease and self.rig.service is not None:
            self.model.dead.clear()
            self.model.idle = False

    @rule(steps=st.integers(1, 5), who=st.integers(0, 9))
    def a_little_arrives(self, steps, who):
        if self.rig.service is not None:
            for _ in range(steps):
                self.rig.step(self.rig.wires[who % len(self.rig.wires)])

    @rule(who=st.integers(0, 9))
    def a_connection_breaks(self, who):
        self.wire(who).cut()

    @rule(who=st.integers(0, 9))
    def a_worker_is_killed(self, who):
        self.hear()
        wire = self.wire(who)
        if not wire.linked:
            return  # what it settled meanwhile would die with it
        wire.alive = False
        wire.cut()
        self.model.idle = True
        for ledger, reservation in list(self.reservations):
            if ledger is wire.ledger:
                self.reservations.remove((ledger, reservation))
                self.model.dead += self.model.open.pop(id(reservation))
        self.ledgers.remove(wire.ledger)
        self.ledgers.append(self.rig.worker().ledger)

    @rule()
    def the_coordinator_is_killed(self):
        self.rig.kill_coordinator()

    @precondition(lambda self: self.rig.service is None)
    @rule()
    def the_coordinator_starts(self):
        self.rig.start()
        self.connect()

    @rule()
    def everybody_connects(self):
        if self.rig.service is not None:
            self.connect()

    @invariant()
    def the_books_are_within_the_limits(self):
        if self.rig.service is not None:
            for name, limit in ACCOUNTS.items():
                assert self.rig.book.standing((name, limit.window.code), self.now).total <= limit.capacity, name

    def connect(self):
        for wire in self.rig.wires:
            if wire.alive and not wire.linked:
                wire.connect()
        self.hear()

    def wire(self, who):
        alive = [wire for wire in self.rig.wires if wire.alive]
        return alive[who % len(alive)]


SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
TestMemory = MemoryMachine.TestCase
TestMemory.settings = SETTINGS
TestCoordinator = CoordinatorMachine.TestCase
TestCoordinator.settings = SETTINGS
