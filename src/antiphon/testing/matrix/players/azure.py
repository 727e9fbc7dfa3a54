"""A resource of Azure OpenAI: OpenAI's dialect at another path, with a key in another header."""

from antiphon.testing.matrix.players._openai import OpenAI

plugin = OpenAI("/openai/v1", "api-key", "sk-key")
