"""Fits a replica model to what a server showed."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from antiphon.scheduling.simulator.replica import ReplicaSpec
from benchmarks.reality.scenes import Scene, Times, simulate

Vector = NDArray[np.float64]

SCALES = {
    "prefill_ms_per_token": 1.0,
    "step_base_ms": 10.0,
    "step_per_sequence_ms": 1.0,
    "step_per_kilotoken_ms": 1.0,
    "prefill_attention_ms": 100.0,
    "call_overhead_ms": 10.0,
}
"""What is fitted, and how large it is, about. None may be negative. A rate is fitted by its inverse, in which times are linear."""
WIDTHS = (0.1, 0.01, 0.001)
"""Steps from which slopes are taken, in turn. Wide ones see over the jumps that come where a call just misses a step."""
ROUNDS = 25
"""With each of them."""
LATEST = 5
LEAST_MS_PER_TOKEN = 1e-3


class Point(msgspec.Struct, frozen=True):
    """One time of one group of a scene, as measured and as the model has it; seconds."""

    scene: str
    group: str
    what: str
    measured: float
    model: float

    @property
    def error(self) -> float:
        """Of the model, as a share of what was measured."""
        return self.model / self.measured - 1


def fit(fixed: ReplicaSpec, scenes: dict[str, Scene], measured: dict[str, list[Times]]) -> ReplicaSpec:
    """The replica whose relative errors have the least sum of squares, with up to ``LATEST`` steps before a call joins."""
    tried = [_fit(msgspec.structs.replace(fixed, steps_to_join=steps), scenes, measured) for steps in range(LATEST + 1)]
    return min(tried, key=lambda spec: sum(point.error**2 for point in compare(spec, scenes, measured)))


def _fit(fixed: ReplicaSpec, scenes: dict[str, Scene], measured: dict[str, list[Times]]) -> ReplicaSpec:
    """The best with so many steps.

    ``fixed`` says what is not fitted: steps, batch, chunk and memory. Levenberg and Marquardt's method with slopes from differences
    (J. Nocedal and S. Wright, Numerical Optimization, 2006, section 10.3); a value that would become negative stays at 0.
    """

    def errors(values: Vector) -> Vector:
        points = compare(_spec(fixed, values), scenes, measured)
        return np.array([point.error for point in points])

    values = np.ones(len(SCALES))
    found = errors(values)
    for width in WIDTHS:
        damping = 1e-2
        for _ in range(ROUNDS):
            slopes = np.column_stack([(errors(values + step) - found) / width for step in np.eye(len(values)) * width])
            square = slopes.T @ slopes
            scaled = np.diag(np.diag(square)) + 1e-9 * np.eye(len(values))
            tried = np.maximum(0.0, values - np.linalg.solve(square + damping * scaled, slopes.T @ found))
            came = errors(tried)
            if came @ came < found @ found:
                values, found, damping = tried, came, max(1e-9, damping / 3)
            else:
                damping = min(1e9, damping * 4)
    return _spec(fixed, values)


def compare(spec: ReplicaSpec, scenes: dict[str, Scene], measured: dict[str, list[Times]]) -> list[Point]:
    """Every time that was measured beside the model's."""
    points = []
    for name, times in measured.items():
        scene = scenes[name]
        for group, real, model in zip(scene, times, simulate(spec, scene), strict=True):
            points.append(Point(name, group.name, "first token", real.ttft, model.ttft))
            points.append(Point(name, group.name, "each further token", real.per_token, model.per_token))
    return points


def middle(repeats: Sequence[Sequence[Times]]) -> list[Times]:
    """Medians over repeats of a scene."""
    return [
        Times(float(np.median([times.ttft for times in group])), float(np.median([times.per_token for times in group])))
        for group in zip(*repeats, strict=True)
    ]


def _spec(fixed: ReplicaSpec, values: Vector) -> ReplicaSpec:
    found = {name: float(value) * scale for (name, scale), value in zip(SCALES.items(), values, strict=True)}
    rate = 1000 / max(LEAST_MS_PER_TOKEN, found.pop("prefill_ms_per_token"))
    return msgspec.structs.replace(fixed, prefill_rate=rate, **found)
