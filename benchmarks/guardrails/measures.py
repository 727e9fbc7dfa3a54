"""Figures: recall and precision of spans, shares of prompts that are stopped, processor time."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from antiphon.core.guardrail import Guardrail
from benchmarks.guardrails.chinese import Marked


class Spans(msgspec.Struct, frozen=True):
    """How surely one kind is found. A finding is right where it overlaps a span of its kind, and a span is found alike."""

    kind: str
    spans: int
    recall: float
    findings: int
    precision: float


class Stopped(msgspec.Struct, frozen=True):
    """How many of the prompts are stopped, and which of them are not as they should be."""

    what: str
    prompts: int
    stopped: int
    wrong: tuple[str, ...]

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.stopped / self.prompts if self.prompts else 0.0


def spans(guardrail: Guardrail, sentences: Iterable[Marked], same: Mapping[str, str]) -> list[Spans]:
    """Recall and precision of every kind that is marked or found. ``same`` says which kinds count as another one."""
    right, told, found, marked = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for sentence in sentences:
        findings = [(each.begin, each.end, same.get(each.kind, each.kind)) for each in guardrail.find(sentence.text)]
        for finding in findings:
            told[finding[2]] += 1
            right[finding[2]] += any(_overlap(finding, span) for span in sentence.spans)
        for span in sentence.spans:
            marked[span[2]] += 1
            found[span[2]] += any(_overlap(finding, span) for finding in findings)
    kinds = sorted(set(told) | set(marked))
    return [
        Spans(kind, marked[kind], found[kind] / max(1, marked[kind]), told[kind], right[kind] / max(1, told[kind]))
        for kind in kinds
    ]


def _overlap(finding: tuple[int, int, str], span: tuple[int, int, str]) -> bool:
    return finding[2] == span[2] and finding[0] < span[1] and span[0] < finding[1]


def stopped(what: str, guardrails: Sequence[Guardrail], prompts: Sequence[str], should: bool) -> Stopped:
    """How many prompts any of the guardrails finds something in."""
    stops = [any(guardrail.find(prompt) for guardrail in guardrails) for prompt in prompts]
    wrong = tuple(prompt for prompt, stop in zip(prompts, stops, strict=True) if stop != should)
    return Stopped(what, len(prompts), sum(stops), wrong)


def microseconds(guardrail: Guardrail, texts: Sequence[str], repeats: int) -> float:
    """Processor time for 1,000 characters, the best of some runs behind one that warms up."""
    characters = sum(map(len, texts))
    best = float("inf")
    for _ in range(repeats + 1):
        begin = time.process_time()
        for text in texts:
            guardrail.find(text)
        best = min(best, time.process_time() - begin)
    return best / characters * 1e9
