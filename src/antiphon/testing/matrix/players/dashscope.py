"""A server that speaks DashScope's native protocol, for models that read text alone."""

from antiphon.testing.matrix.players._dashscope import DashScope

plugin = DashScope("text-generation", parts=False)
