"""What the hosts of models on this machine can do. They speak OpenAI's dialect."""

from typing import Final

from antiphon.execution.providers import Abilities

ENGINE: Final = Abilities(
    embeddings=False,
    tools=False,
    parallel_tools=False,
    vision=False,
    audio=False,
    documents=False,
    reasoning=False,
    count_tokens=True,
)
"""Every engine."""
ENCODER: Final = Abilities(chat=False, completions=False)
"""The encoder for embeddings."""
