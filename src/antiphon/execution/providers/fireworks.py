"""Fireworks' cloud."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words

plugin = Vendor(
    title="Fireworks",
    documentation="https://docs.fireworks.ai/api-reference/post-chatcompletions",
    url="https://api.fireworks.ai/inference/v1",
    abilities=Abilities(documents=False),
    words=Words(top_k=True, min_p=True, repetition_penalty=True),
)
