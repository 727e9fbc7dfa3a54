"""Embeddings."""

import base64
import struct
from typing import Any

from antiphon.testing.fidelity.case import EMBEDDINGS, MARK, Case, Check, Group, Scene
from antiphon.testing.fidelity.checks import embeds, embeds_as_text, error_says, fails, sent, sent_or_refused, tells
from antiphon.testing.fidelity.words.errors import refusal
from antiphon.testing.fidelity.words.openai import answers

ONE, TWO, THREE = [0.25, -0.5, 0.125], [1.0, 0.0, -1.0], [-0.0078125, 0.75, 2.5]
FINE = [-0.012345678901234567, 1e-08, 3.4028234663852886e38, 0.1, 1 / 3]
USAGE = {"prompt_tokens": 7, "total_tokens": 7}
MANY = [[at / 1024, -at / 512] for at in range(200)]


def _vectors(*vectors: Any, order: list[int] | None = None) -> Scene:
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    told = [data[at] for at in order] if order else data
    return answers({"object": "list", "data": told, "model": "fidelity-upstream", "usage": USAGE})


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _case(name: str, right: str, scene: Scene, *checks: Check, **fields: Any) -> Case:
    body = {"input": f"A sentence. {MARK}", **fields}
    return Case(id=f"embed-{name}", right=right, route=EMBEDDINGS, body=body, scene=scene, checks=checks)


GROUP = Group(
    name="embed",
    title="Embeddings",
    about="Vectors arrive number by number, in the form that was asked for, and belong to their inputs.",
    sources=("OpenAI API reference, Create embeddings: https://platform.openai.com/docs/api-reference/embeddings/create",),
    cases=(
        _case("one", "One text has one vector.", _vectors(ONE), embeds(ONE), sent(input=f"A sentence. {MARK}")),
        _case(
            "three",
            "Three texts have three vectors, in order.",
            _vectors(ONE, TWO, THREE),
            embeds(ONE, TWO, THREE),
            sent(input=["One.", "Two.", MARK]),
            input=["One.", "Two.", MARK],
        ),
        _case(
            "turned",
            "Vectors that the server lists in another order still belong to their inputs by their index.",
            _vectors(ONE, TWO, THREE, order=[2, 0, 1]),
            embeds(ONE, TWO, THREE),
            input=["One.", "Two.", MARK],
        ),
        _case("exact", "Numbers keep all their digits.", _vectors(FINE), embeds(FINE), encoding_format="float"),
        _case(
            "float",
            "`encoding_format: float` arrives, and lists of numbers come back.",
            _vectors(ONE),
            sent(encoding_format="float"),
            embeds(ONE),
            encoding_format="float",
        ),
        _case(
            "base64",
            "`encoding_format: base64` arrives, and base64 comes back.",
            _vectors(_packed(ONE)),
            sent(encoding_format="base64"),
            embeds_as_text(_packed(ONE)),
            encoding_format="base64",
        ),
        _case("dimensions", "`dimensions` arrives.", _vectors(ONE), sent_or_refused("dimensions", 3), dimensions=3),
        _case("user", "`user` arrives.", _vectors(ONE), sent(user="user-1234"), embeds(ONE), user="user-1234"),
        _case(
            "tokens",
            "Inputs that are tokens arrive as numbers.",
            _vectors(ONE, TWO),
            sent(input=[[1, 2, 3], [100_000, 0]]),
            embeds(ONE, TWO),
            input=[[1, 2, 3], [100_000, 0]],
            user=MARK,
        ),
        _case(
            "unicode",
            "Texts arrive character by character.",
            _vectors(ONE),
            sent(input=f"世界 🎼 cafe\u0301 \u200b\n {MARK}"),
            embeds(ONE),
            input=f"世界 🎼 cafe\u0301 \u200b\n {MARK}",
        ),
        _case(
            "many",
            "Two hundred inputs in one request are one request.",
            _vectors(*MANY),
            embeds(*MANY),
            sent(input=[*(f"Input {at}." for at in range(199)), MARK]),
            input=[*(f"Input {at}." for at in range(199)), MARK],
        ),
        _case("usage", "The usage is told.", _vectors(ONE), embeds(ONE), tells(usage=USAGE)),
        _case(
            "object",
            "The answer is a list of embeddings.",
            _vectors(ONE),
            tells(object="list", data=[{"object": "embedding", "index": 0}]),
        ),
        _case(
            "error",
            "An error of the model's server arrives with its status and words.",
            refusal(400, "The input is too long.", param="input"),
            fails(400),
            error_says("The input is too long."),
        ),
    ),
)
