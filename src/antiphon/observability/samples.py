"""Samples of metrics as the text format can carry them."""

import sys
from collections.abc import Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily


def number(value: float) -> float:
    """A sample's value. One bad number, such as a provider's invented usage, must not cost the page."""
    return float(min(max(0, value), sys.float_info.max))


def texts(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels in valid UTF-8."""
    return tuple(label.encode("utf-8", "replace").decode() for label in labels)


def add(family: CounterMetricFamily | GaugeMetricFamily, labels: Sequence[str], value: float) -> None:
    """One more sample of a family."""
    family.add_metric(texts(labels), number(value))
