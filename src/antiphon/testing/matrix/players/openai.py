"""A server that speaks OpenAI's chat dialect."""

from antiphon.testing.matrix.players._openai import OpenAI

plugin = OpenAI("/v1", "authorization", "Bearer sk-key")
