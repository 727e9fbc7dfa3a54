"""Any order of calls, trips and time: every board agrees with the pure machine."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_board import Permit
from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.storage.memory_board import MemoryBreakerBoard
from antiphon.testing import FakeBreakerBoard, FakeClock
from tests.unit.dispatch.coordinator.rig import Rig

POLICY = BreakerPolicy(trials=3, minimum_calls=3)
TARGETS = ("a", "b")


class MemoryMachine(RuleBasedStateMachine):
    kind: Any = MemoryBreakerBoard

    def __init__(self):
        super().__init__()
        self.machines = {target: Breaker() for target in TARGETS}
        self.permits = []
        """Board, permit, and the model's number or term of it."""
        self.count = 0
        self.make()

    def make(self):
        self.clock = FakeClock()
        self.boards: list[Any] = [self.kind(self.clock)]

    def hear(self):
        """Let what was said arrive."""

    def rest(self):
        """Let the pause after a refusal pass."""

    @property
    def now(self):
        return self.clock.monotonic()

    def model_admits(self, target):
        """The number of a trial, the negative term for an ordinary call, or None."""
        machine, self.count = self.machines[target], self.count + 1
        view = machine.view(self.now)
        if view.state == "closed":
            return -view.term
        return self.count if machine.acquire(POLICY, self.count, self.now) else None

    @rule(name=st.sampled_from(TARGETS), who=st.integers(0, 9))
    def admit(self, name, who):
        board = self.boards[who % len(self.boards)]
        told = []
        known = board.admit(name, POLICY, told.append)
        self.hear()
        answer = known if known is not None else told[0]
        expected = self.model_admits(name)
        self.rest()
        assert isinstance(answer, Permit) == (expected is not None), answer
        if expected is not None:
            assert bool(answer.trial) == (expected > 0)
            self.permits.append((board, answer, expected))

    @precondition(lambda self: self.permits)
    @rule(which=st.integers(0, 99), ok=st.sampled_from([True, False, False, None]), again=st.booleans())
    def report(self, which, ok, again):
        board, permit, expected = self.permits.pop(which % len(self.permits))
        machine = self.machines[permit.target]
        for _ in range(1 + (again and expected > 0)):
            board.report(permit, ok)
        if expected > 0:
            machine.conclude(POLICY, expected, ok, self.now)
        elif ok is not None and machine.view(self.now).term == -expected:
            machine.count(POLICY, ok, not ok, self.now)
        self.hear()
        self.rest()

    @rule(name=st.sampled_from(TARGETS), outcomes=st.lists(st.booleans(), max_size=5), who=st.integers(0, 9))
    def calls(self, name, outcomes, who):
        for ok in outcomes:
            before = len(self.permits)
            self.admit(name, who)
            if len(self.permits) > before:
                self.report(before, ok, False)

    @rule(name=st.sampled_from(TARGETS), seconds=st.sampled_from([1.0, 40.0]), who=st.integers(0, 9))
    def trip(self, name, seconds, who):
        self.boards[who % len(self.boards)].trip(name, POLICY, seconds)
        self.machines[name].trip(seconds, self.now)
        self.hear()

    @rule(seconds=st.sampled_from([0.5, 3.0, 12.0, 31.0]))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @invariant()
    def all_agree(self):
        for target in TARGETS:
            expected = self.machines[target].view(self.now)
            for board in self.boards:
                view = board.view(target)
                assert view.state == expected.state, (target, view, expected)
                if expected.state == "open":
                    assert abs(view.until - expected.until) < 1e-3


class FakeMachine(MemoryMachine):
    kind = FakeBreakerBoard


class CoordinatorMachine(MemoryMachine):
    def make(self):
        self.rig = Rig(eager=False)
        self.clock = self.rig.clock
        self.boards = [self.rig.worker().board for _ in range(3)]

    def hear(self):
        self.rig.pump()

    def rest(self):
        self.clock.advance(0.06)


OPTIONS = settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
TestMemory = MemoryMachine.TestCase
TestFake = FakeMachine.TestCase
TestCoordinator = CoordinatorMachine.TestCase
for case in (TestMemory, TestFake, TestCoordinator):
    case.settings = OPTIONS
