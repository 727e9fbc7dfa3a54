"""What the groups of methods of a client stand on."""

from antiphon_client.options import Options
from antiphon_client.transport.async_sender import AsyncSender
from antiphon_client.transport.sender import Sender


class Resource:
    """A group of methods, blocking."""

    def __init__(self, sender: Sender, options: Options) -> None:
        self._sender = sender
        self._options = options


class AsyncResource:
    """A group of methods, for coroutines."""

    def __init__(self, sender: AsyncSender, options: Options) -> None:
        self._sender = sender
        self._options = options
