"""The engine host: one local model behind the OpenAI wire.

It stands between HTTP and the ``Engine`` port: parses requests, renders the chat template, turns tokens into text, ends answers at
stop strings and writes OpenAI's objects and event streams. It runs in a process of its own; it knows neither which engine it has
nor who started it.
"""

from antiphon.execution.engine_host.host import EngineHost, refuse
from antiphon.execution.engine_host.sampling import SamplingDefaults

__all__ = ["EngineHost", "SamplingDefaults", "refuse"]
