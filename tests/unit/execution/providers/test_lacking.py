"""What a provider lacks is refused by the name of the model, with the models that have it."""

import asyncio
import json

import pytest

from antiphon.core.errors import UnsupportedParameter
from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, ProviderOptions
from antiphon.execution.providers._lacking import MAX_SHOWN
from antiphon.execution.providers._openai import OpenAIProvider
from antiphon.transport.client import Origin
from antiphon.transport.deadlines import DeadlineWheel

LACKING = Abilities(embeddings=False, n=False, tools=False, json_schema=False)
ELSEWHERE = {"tools": tuple(f"able-{number}" for number in range(20)), "embeddings": ("usem3",), "n": ()}
TOOL = {"tools": [{"type": "function"}]}
SCHEMA = {"response_format": {"type": "json_schema"}}


def refusal(endpoint: str, **fields: object) -> UnsupportedParameter:
    async def prepare() -> None:
        wheel = DeadlineWheel(asyncio.get_running_loop())
        provider = OpenAIProvider(ProviderOptions("antiphon", Origin(), abilities=LACKING, elsewhere=ELSEWHERE), wheel)
        asked = call(endpoint, fields)
        if endpoint not in provider.passing:
            raise provider.server.lacking.endpoint(asked)
        provider.prepare(asked, "small")

    with pytest.raises(UnsupportedParameter) as caught:
        asyncio.run(prepare())
    return caught.value


def call(endpoint: str, fields: dict[str, object]) -> Call:
    return Call("id", endpoint, "my-model", json.dumps({"model": "my-model", **fields}).encode())


@pytest.mark.parametrize(
    ("endpoint", "fields", "what", "remedy"),
    [
        ("chat/completions", TOOL, 'model "my-model" does not support `tools`', "leave it out; ask one that does: able-0, able-1"),
        ("chat/completions", {"n": 2}, 'model "my-model" does not support `n`', "leave it out; no model here does"),
        ("chat/completions", SCHEMA, 'model "my-model" does not support `response_format`', "leave it out; no model here does"),
        ("embeddings", {}, 'model "my-model" does not serve /v1/embeddings', "ask one that does: usem3"),
    ],
    ids=["tools", "n", "json_schema", "embeddings"],
)
def test_the_model_is_named_and_those_that_can(endpoint: str, fields: dict[str, object], what: str, remedy: str) -> None:
    error = refusal(endpoint, **fields)
    assert error.message == what
    assert error.remedy.startswith(remedy)
    assert "antiphon" not in str(error)


def test_not_all_models_of_a_large_catalogue_are_listed() -> None:
    assert refusal("chat/completions", **TOOL).remedy.count("able-") == MAX_SHOWN
