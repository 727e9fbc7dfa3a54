"""The dialect of text-embeddings-inference: ranking. Its embeddings are asked for in OpenAI's."""

from typing import Final

DIALECT: Final = "tei"
