"""The older completions of a prompt."""

from typing import Any

from antiphon.testing.fidelity.case import COMPLETIONS, MARK, Act, Case, Check, Group, IfUsageAsked, Scene, Until
from antiphon.testing.fidelity.checks import (
    counts,
    does_not_look_whole,
    ends_with_done,
    error_says,
    every_object_has,
    fails,
    finishes,
    no_usage,
    one_usage_event,
    said_before,
    says,
    sent,
    tells,
)
from antiphon.testing.fidelity.words.errors import refusal
from antiphon.testing.fidelity.words.openai import HEAD, USAGE, answers, streams
from antiphon.testing.steps import Cut, Done, Event

PROMPT = f"Once {MARK}"
LOGPROBS = {
    "tokens": [" upon", " a"],
    "token_logprobs": [-0.25, -1e-7],
    "top_logprobs": [{" upon": -0.25, " more": -2.0}, {" a": -1e-7}],
    "text_offset": [4, 9],
}


def _said(text: str, index: int = 0, finish: str | None = None, logprobs: Any = None) -> dict[str, Any]:
    return {"text": text, "index": index, "logprobs": logprobs, "finish_reason": finish}


def _body(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**HEAD, "object": "text_completion", "choices": list(choices), **more}


def _whole(*choices: dict[str, Any]) -> Scene:
    return answers(_body(*choices, usage=USAGE))


def _streamed(*acts: Act) -> Scene:
    return streams(*acts, IfUsageAsked(Event(_body(usage=USAGE))), Done())


PIECES = (
    Event(_body(_said(" upon"))),
    Event(_body(_said(" a 世"))),
    Event(_body(_said("界"))),
    Event(_body(_said("", finish="length"))),
)


def _case(name: str, right: str, scene: Scene, *checks: Check, prompt: Any = PROMPT, **more: Any) -> Case:
    return Case(id=f"complete-{name}", right=right, route=COMPLETIONS, body={"prompt": prompt, **more}, scene=scene, checks=checks)


GROUP = Group(
    name="complete",
    title="Completions",
    about="The older endpoint, which servers of open models still offer.",
    sources=("OpenAI API reference, Create completion: https://platform.openai.com/docs/api-reference/completions/create",),
    cases=(
        _case(
            "whole",
            "Text and reason come in one piece.",
            _whole(_said(" upon a time.", finish="stop")),
            says(" upon a time."),
            finishes("stop"),
        ),
        _case(
            "object",
            "The answer is an object `text_completion`.",
            _whole(_said(" a", finish="stop")),
            tells(object="text_completion"),
        ),
        _case(
            "stream",
            "Streamed text comes to the letter, with its reason for the end.",
            _streamed(*PIECES),
            says(" upon a 世界"),
            finishes("length"),
            stream=True,
        ),
        _case(
            "stream-done",
            "The stream ends in `data: [DONE]`, once, with nothing behind it.",
            _streamed(*PIECES),
            says(" upon a 世界"),
            ends_with_done,
            stream=True,
        ),
        _case(
            "stream-object",
            "Every event is an object `text_completion`.",
            _streamed(*PIECES),
            every_object_has(object="text_completion"),
            stream=True,
        ),
        _case("prompt", "The prompt arrives.", _whole(_said(" a", finish="stop")), sent(prompt=PROMPT), says(" a")),
        _case(
            "prompts",
            "Several prompts arrive, and their texts come back by index.",
            _whole(_said(" a", 0, "stop"), _said(" b", 1, "stop")),
            sent(prompt=["One", MARK]),
            says(" a", 0),
            says(" b", 1),
            prompt=["One", MARK],
        ),
        _case(
            "parameters",
            "Parameters arrive.",
            _whole(_said(" a", finish="stop")),
            sent(suffix="The end.", echo=True, best_of=3, n=2, temperature=0, max_tokens=9, stop=["END"], seed=1),
            suffix="The end.",
            echo=True,
            best_of=3,
            n=2,
            temperature=0,
            max_tokens=9,
            stop=["END"],
            seed=1,
        ),
        _case(
            "logprobs",
            "Log-probabilities arrive, in the shape of this endpoint.",
            _whole(_said(" upon a", finish="stop", logprobs=LOGPROBS)),
            sent(logprobs=2),
            tells(choices=[{"logprobs": LOGPROBS}]),
            logprobs=2,
        ),
        _case("usage", "The usage of an answer in one piece is told.", _whole(_said(" a", finish="stop")), counts(**USAGE)),
        _case(
            "usage-asked",
            "The usage of a stream is told once where it was asked for.",
            _streamed(*PIECES),
            says(" upon a 世界"),
            one_usage_event,
            counts(**USAGE),
            stream=True,
            stream_options={"include_usage": True},
        ),
        _case(
            "usage-not-asked",
            "The usage of a stream is not told where it was not asked for.",
            _streamed(*PIECES),
            says(" upon a 世界"),
            no_usage,
            stream=True,
        ),
        _case(
            "cut",
            "A stream that is cut does not look whole.",
            streams(*PIECES[:2], Until("upon"), Cut()),
            said_before(" upon a 世"),
            does_not_look_whole,
            stream=True,
        ),
        _case("error", "An error arrives with status and words.", refusal(400, "Too long."), fails(400), error_says("Too long.")),
    ),
)
