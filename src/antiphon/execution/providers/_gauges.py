"""Pages of Prometheus' text format, as servers of models have them, and the gauges on them that tell their load."""

from collections.abc import Iterator
from functools import lru_cache
from math import isfinite

import msgspec
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from antiphon.execution.providers import ServerLoad

MAX_LINES = 128
"""Lines with gauges that are read: one for each engine that stands behind a server."""
MAX_LINE = 1024
"""Bytes that one may have."""
MOST = 10_000_000_000
"""Calls or tokens; who says more than that is wrong."""
_MODEL = "model_name"
"""Label with the name of a model."""


class Gauges(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a kind of server, and the names of what it tells there. Of several names the first that a page has counts."""

    running: tuple[str, ...]
    """Calls that it works on."""
    waiting: tuple[str, ...]
    """Calls that wait."""
    usage: tuple[str, ...] = ()
    """Share of the KV memory in use, 0 to 1."""
    tokens: tuple[str, ...] = ()
    """Tokens in the KV memory that running calls need."""
    capacity: tuple[str, tuple[str, ...]] = ("", ())
    """A gauge, and those of its labels whose product is the tokens that the KV memory has room for: where there are no ``tokens``,
    it and ``usage`` tell."""
    path: str = "/metrics"
    lag: float = 0.5

    def read(self, page: bytes, model: str) -> ServerLoad:
        """The load that a page tells. Raises ValueError where it tells none.

        Engines that stand behind one server have a line each, and are added up: those of the model where its name stands on some,
        else all of them. A server may call its model by another name there than callers do.
        """
        page = b"\n" + page
        running, waiting = self._all(self.running, page, model), self._all(self.waiting, page, model)
        if not running:
            raise ValueError(f"it has no {self.running[0]}")
        usage = self._all(self.usage, page, model)
        used = min(1.0, max(0.0, sum(map(_value, usage)) / len(usage))) if usage else 0.0
        return ServerLoad(_count(running), _count(waiting), used, self._held(page, model, used if usage else None))

    def _held(self, page: bytes, model: str, used: float | None) -> int:
        """Tokens in the KV memory; negative where the page does not tell."""
        if tokens := self._all(self.tokens, page, model):
            return _count(tokens)
        name, labels = self.capacity
        if used is None or not name:
            return -1
        room = 0.0
        for sample in self._all((name,), page, model):
            product = 1.0
            for label in labels:
                product *= _number(sample.labels.get(label, ""))
            room += product
        return min(MOST, int(used * room)) if room > 0 else -1

    def _all(self, names: tuple[str, ...], page: bytes, model: str) -> list[Sample]:
        """The samples of the first of these names that a page has: those with the model's name, or all where none has it."""
        for name in names:
            samples = list(_samples(name, page))
            if samples:
                return [each for each in samples if each.labels.get(_MODEL) == model] or samples
        return []


def _samples(name: str, page: bytes) -> Iterator[Sample]:
    """What a page says under a name. Pages are long, most of them histograms: only the lines that matter are parsed."""
    for line in _lines(name.encode(), page):
        yield from (sample for sample in _parsed(line) if sample.name == name)


@lru_cache(maxsize=256)  # most lines are as they were the last time, and those of a server's settings always are
def _parsed(line: bytes) -> tuple[Sample, ...]:
    try:
        families = text_string_to_metric_families(line.decode(errors="replace"))
        return tuple(sample for family in families for sample in family.samples)
    except ValueError:  # what it says is in the page, and may be a secret
        raise ValueError("a line is not in Prometheus' text format") from None


def _lines(name: bytes, page: bytes) -> Iterator[bytes]:
    """The lines that begin with a name. A line feed stands before each, the first too."""
    begin, found = page.find(b"\n" + name), 0
    while begin >= 0:
        end = page.find(b"\n", begin + 1)
        line = page[begin + 1 : end] if end >= 0 else page[begin + 1 :]
        found += 1
        if found > MAX_LINES or len(line) > MAX_LINE:
            raise ValueError(f"it says too much of {name.decode()}")
        yield line
        begin = page.find(b"\n" + name, end) if end >= 0 else -1


def _count(samples: list[Sample]) -> int:
    return min(MOST, max(0, round(sum(map(_value, samples)))))


def _value(sample: Sample) -> float:
    """Its number; 0 where it is none that counts anything. Raises ValueError for more than there can be."""
    number = float(sample.value)
    if number > MOST:
        raise ValueError(f"{sample.name} is {number:g} there, which cannot be")
    return _finite(number)


def _number(text: str) -> float:
    """The number in a label; 0 where it is none."""
    try:
        return _finite(float(text))
    except ValueError:
        return 0.0


def _finite(number: float) -> float:
    return min(float(MOST), max(0.0, number)) if isfinite(number) else 0.0
