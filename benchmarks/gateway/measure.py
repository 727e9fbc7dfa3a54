"""Measures gateways in turn, each pinned to one core, with its callers and its upstream on another."""

import sys
import time
from pathlib import Path

import msgspec

from benchmarks.gateway.cases import CASES, STEADY, Case
from benchmarks.gateway.peers import READY, Launch, Peer, Site
from benchmarks.processes import Process, Trouble, cpu_time, free_port, memory_mb, on_core, stolen
from benchmarks.traffic import Load, Outcome, Upstream, run_load

DIRECT = "direct"
"""Name of the mock itself, called without a gateway."""


class Cores(msgspec.Struct, frozen=True):
    """Numbers of the two cores."""

    gateway: int
    traffic: int


class Sample(msgspec.Struct, frozen=True):
    """One case, measured once for one gateway."""

    outcome: Outcome
    cpu_seconds: float
    """User and system time of the gateway's processes."""
    stolen: float
    """Share of the machine's time that its hypervisor gave to others."""

    @property
    def per_call(self) -> float:
        """Processor time, microseconds."""
        return self.cpu_seconds * 1e6 / max(1, self.outcome.good)

    @property
    def per_event(self) -> float:
        """Processor time of the whole call by its events, microseconds."""
        return self.cpu_seconds * 1e6 / max(1, self.outcome.events)

    @property
    def calls_per_second(self) -> float:
        return self.outcome.good / self.outcome.seconds

    @property
    def busy(self) -> float:
        """Share of its core that the gateway used."""
        return self.cpu_seconds / self.outcome.seconds


class Gateway:
    """A running gateway, or the mock itself."""

    def __init__(self, name: str, port: int, launch: Launch, process: Process | None) -> None:
        self.name = name
        self.port = port
        self.headers = launch.headers
        self.idle_mb = 0.0
        self.requests: dict[str, int] = {}
        """Calls in a measurement, by case."""
        self._process = process

    def pids(self) -> frozenset[int]:
        return self._process.pids() if self._process else frozenset()

    def memory(self) -> float:
        """MiB, proportional set size."""
        return memory_mb(self.pids())

    def stop(self) -> None:
        if self._process:
            self._process.stop()


class Bench:
    """The mock upstream and whatever runs in front of it."""

    def __init__(self, folder: Path, cores: Cores, hurry: float) -> None:
        self._folder = folder
        self._cores = cores
        self._hurry = hurry
        self._bodies = {case.name: case.write(folder) for case in CASES}
        self.gateways: list[Gateway] = []
        with on_core(cores.traffic):
            self._upstream = Upstream(folder)
        self.gateways.append(Gateway(DIRECT, self._upstream.port, Launch(()), None))

    def start(self, peer: Peer, program: str) -> None:
        """Start a gateway and wait until it answers. Raises Trouble where it does not."""
        folder = self._folder / peer.name
        folder.mkdir()
        site = Site(free_port(), self._upstream.port, folder)
        launch = peer.launch(program, site)
        with on_core(self._cores.gateway):
            process = Process(peer.name, launch.command, folder / "log", launch.environment)
        gateway = Gateway(peer.name, site.port, launch, process)
        try:
            process.wait_until(lambda: self._answers(gateway), READY)
        except Trouble:
            process.stop()
            raise
        time.sleep(1.0)
        gateway.idle_mb = gateway.memory()
        self.gateways.append(gateway)

    def measure(self, gateway: Gateway, case: Case) -> Sample:
        """One measurement; the first of its kind is preceded by one that warms up and tells how many calls are needed."""
        if case.name not in gateway.requests:
            gateway.requests[case.name] = self._calls_needed(gateway, case)
        return self._sample(gateway, case, gateway.requests[case.name])

    def stop(self) -> None:
        for gateway in self.gateways:
            gateway.stop()
        self._upstream.stop()

    def _answers(self, gateway: Gateway) -> bool:
        load = Load(gateway.port, self._bodies[STEADY.name], connections=1, requests=1, headers=gateway.headers, limit=10)
        return run_load(load).good == 1

    def _calls_needed(self, gateway: Gateway, case: Case) -> int:
        seconds = case.seconds * self._hurry
        if case.rate:
            return int(case.rate * seconds)
        if case.pace_ms:
            return case.connections * max(1, round(seconds * 1000 / (case.events * case.pace_ms)))
        pilot = self._sample(gateway, case, case.connections * 3)
        return int(max(case.connections * 2, min(500_000, pilot.calls_per_second * seconds)))

    def _sample(self, gateway: Gateway, case: Case, requests: int) -> Sample:
        load = Load(
            gateway.port,
            self._bodies[case.name],
            connections=case.connections,
            requests=requests,
            headers=gateway.headers,
            stream=bool(case.events),
            events=case.events or -1,
            rate=case.rate,
            ramp_ms=case.events * case.pace_ms // 2,
            limit=30.0,
        )
        pids, stolen_before = gateway.pids(), stolen()
        before = cpu_time(pids)
        with on_core(self._cores.traffic):
            outcome = run_load(load)
        used, stolen_after = cpu_time(pids).since(before), stolen()
        share = (stolen_after[0] - stolen_before[0]) / max(1, stolen_after[1] - stolen_before[1])
        return Sample(outcome, used, share)


Samples = dict[str, dict[str, list[Sample]]]
"""By gateway and case, one a repeat."""


def measure_in_turn(bench: Bench, repeats: int) -> Samples:
    """Every case through every gateway, A B C A B C, so that those compared were measured within seconds of each other."""
    samples: Samples = {gateway.name: {case.name: [] for case in CASES} for gateway in bench.gateways}
    for repeat in range(repeats):
        for case in CASES:
            for gateway in bench.gateways:
                if gateway.name == DIRECT and case is not STEADY:
                    continue
                sample = bench.measure(gateway, case)
                samples[gateway.name][case.name].append(sample)
                _tell(f"{repeat + 1}/{repeats}", case, gateway, sample)
    return samples


def _tell(turn: str, case: Case, gateway: Gateway, sample: Sample) -> None:
    cost = f"{sample.per_event:.1f} us/event" if case.events else f"{sample.per_call:.1f} us/call"
    bad = f"  {sample.outcome.bad} without a good answer: {sample.outcome.first_error}" if sample.outcome.bad else ""
    print(f"{turn} {case.name:6} {gateway.name:13} {cost:17} {sample.busy:4.0%} of its core{bad}", file=sys.stderr, flush=True)
