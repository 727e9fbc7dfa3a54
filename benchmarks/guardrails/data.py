"""Public data that is not part of the project, and our own."""

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.guardrails.chinese import Marked

PRESIDIO = "pii/presidio_synth.jsonl.gz"
XSTEST = "guard/xstest_prompts.csv.gz"
ORDINARY = (
    "tasks/mt_bench_questions.jsonl.gz",
    "tasks/gsm8k_test.jsonl.gz",
    "intents/clinc150.json.gz",
    "routing/paretobandit_val.jsonl.gz",
)
WHERE = {
    PRESIDIO: "https://github.com/microsoft/presidio-research has it: data/synth_dataset_v2.json, as lines of JSON",
    XSTEST: "https://github.com/paul-rottger/xstest has it: xstest_prompts.csv",
    ORDINARY[0]: "https://github.com/lm-sys/FastChat has it: fastchat/llm_judge/data/mt_bench/question.jsonl",
    ORDINARY[1]: "https://github.com/openai/grade-school-math has it: grade_school_math/data/test.jsonl",
    ORDINARY[2]: "https://github.com/clinc/oos-eval has it: data/data_full.json",
    ORDINARY[3]: "ParetoBandit's validation prompts, as lines of JSON with a prompt each",
}
SHARES = (160, 300, 300, 240)
"""Ordinary prompts that are taken of each file."""
KINDS = {"STREET_ADDRESS": "ADDRESS", "GPE": "LOCATION", "DOMAIN_NAME": "URL"}
"""What the public set calls what we call otherwise. Its names of domains are URLs."""


def missing(folder: Path | None, name: str) -> str:
    """Why a file cannot be read, or nothing."""
    if folder is None:
        return f"no --data given, so {name} is not looked at; {WHERE[name]}"
    return "" if (folder / name).exists() else f"{folder / name} is not there; {WHERE[name]}"


def _lines(file: Path) -> Iterator[Any]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def presidio(folder: Path) -> Iterator[Marked]:
    """Sentences with personal data in English and its neighbours."""
    for row in _lines(folder / PRESIDIO):
        spans = ((span["start_position"], span["end_position"], span["entity_type"]) for span in row["spans"])
        yield Marked(row["full_text"], tuple((begin, end, KINDS.get(kind, kind)) for begin, end, kind in spans))


def xstest(folder: Path) -> list[tuple[str, bool]]:
    """Prompts, and whether they are unsafe."""
    with gzip.open(folder / XSTEST, "rt", encoding="utf-8") as lines:
        return [(row["prompt"], row["label"] == "unsafe") for row in csv.DictReader(lines)]


def ordinary(folder: Path, seed: int) -> list[str]:
    """A thousand prompts that nobody would mind."""
    bench, maths, intents, routing = (folder / name for name in ORDINARY)
    with gzip.open(intents, "rt", encoding="utf-8") as file:
        asked = [text for part in json.load(file).values() for text, _ in part]
    pools = (
        [turn for row in _lines(bench) for turn in row["turns"]],
        [row["question"] for row in _lines(maths)],
        asked,
        [row["prompt"] for row in _lines(routing)],
    )
    rng = Random(seed)
    return [text for pool, share in zip(pools, SHARES, strict=True) for text in rng.sample(pool, min(share, len(pool)))]


def injections() -> list[str]:
    """Our own attempts."""
    lines = Path(__file__).with_name("injections.txt").read_text(encoding="utf-8").splitlines()
    return [_unescaped(line) for line in lines if line.strip() and not line.startswith("# ")]


def _unescaped(line: str) -> str:
    parts = line.split("\\u")
    text = parts[0] + "".join(chr(int(part[:4], 16)) + part[4:] for part in parts[1:])
    return text.replace("\\n", "\n").replace("\\t", "\t")
