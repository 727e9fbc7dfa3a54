"""The compute host: a text encoder behind ``/v1/embeddings``, in a process of its own.

Encoding takes milliseconds, too long for the loop of a data-plane worker. The host queues requests within bounds, encodes them in
turns on one thread, and knows neither which encoder it has nor who started it.
"""

from antiphon.execution.compute_host.host import ComputeHost
from antiphon.execution.compute_host.limits import ComputeLimits

__all__ = ["ComputeHost", "ComputeLimits"]
