"""A server that speaks DashScope's native protocol, for models that see and hear."""

from antiphon.testing.matrix.players._dashscope import DashScope

plugin = DashScope("multimodal-generation", parts=True)
