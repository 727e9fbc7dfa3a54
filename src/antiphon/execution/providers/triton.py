"""Triton Inference Server, by its OpenAI-compatible frontend."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor

plugin = Vendor(
    title="Triton (OpenAI-compatible frontend)",
    documentation="https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/client_guide/openai_readme.html",
    url="http://127.0.0.1:9000/v1",
    abilities=Abilities(audio=False, documents=False),
)
