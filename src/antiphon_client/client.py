"""The two clients: one that blocks, one for coroutines. Both have the same methods."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self, Unpack

from antiphon_client import address
from antiphon_client.admin import Admin, AsyncAdmin
from antiphon_client.chat.resource import AsyncChat, Chat
from antiphon_client.completions import AsyncCompletions, Completions
from antiphon_client.embeddings import AsyncEmbeddings, Embeddings
from antiphon_client.models import AsyncModels, Models
from antiphon_client.network import DEFAULT_NETWORK, Network, Route, route
from antiphon_client.options import MAX_RETRIES, TIMEOUT, ClientOptions, Options
from antiphon_client.rerank import AsyncRerank, Rerank
from antiphon_client.responses import AsyncResponses, Responses
from antiphon_client.transport.async_sender import AsyncSender
from antiphon_client.transport.sender import Sender


class Client:
    """Talks to one Antiphon server, blocking. Many threads may share it. Close it, or use it with ``with``.

    ``base_url`` is ``http://host:port``, ``https://host`` or ``unix:/path/of/socket``; without one ``ANTIPHON_BASE_URL``, then
    ``ANTIPHON_URL``, then ``http://127.0.0.1:8080`` is taken. Without ``api_key`` it is ``ANTIPHON_API_KEY``, else none is sent.
    ``timeout``: seconds that the server may be silent. ``deadline``: seconds for a whole call, with retries and stream.
    Raises ConfigurationError.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | None = TIMEOUT,
        deadline: float | None = None,
        max_retries: int = MAX_RETRIES,
        headers: Mapping[str, str] | None = None,
        network: Network = DEFAULT_NETWORK,
    ) -> None:
        given = ClientOptions(timeout=timeout, deadline=deadline, max_retries=max_retries, headers=headers or {})
        way = route(address.given_or_named(base_url), network)
        self._set(way, Sender(way, address.key(api_key)), Options().changed(given))

    def with_options(self, **options: Unpack[ClientOptions]) -> Self:
        """A client with other options that shares the connections of this one; closing either closes them."""
        other = type(self).__new__(type(self))
        other._set(self._route, self._sender, self._options.changed(options))  # noqa: SLF001 -- one of our own
        return other

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return str(self._route.address)

    def close(self) -> None:
        """Close all connections."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    def _set(self, way: Route, sender: Sender, options: Options) -> None:
        self._route = way
        self._sender = sender
        self._options = options
        self.chat = Chat(sender, options)
        self.completions = Completions(sender, options)
        self.embeddings = Embeddings(sender, options)
        self.rerank = Rerank(sender, options)
        self.responses = Responses(sender, options)
        self.models = Models(sender, options)
        self.admin = Admin(sender, options)


class AsyncClient:
    """Talks to one Antiphon server, for coroutines of one event loop. Close it, or use it with ``async with``.

    Takes what ``Client`` takes.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | None = TIMEOUT,
        deadline: float | None = None,
        max_retries: int = MAX_RETRIES,
        headers: Mapping[str, str] | None = None,
        network: Network = DEFAULT_NETWORK,
    ) -> None:
        given = ClientOptions(timeout=timeout, deadline=deadline, max_retries=max_retries, headers=headers or {})
        way = route(address.given_or_named(base_url), network)
        self._set(way, AsyncSender(way, address.key(api_key)), Options().changed(given))

    def with_options(self, **options: Unpack[ClientOptions]) -> Self:
        """A client with other options that shares the connections of this one; closing either closes them."""
        other = type(self).__new__(type(self))
        other._set(self._route, self._sender, self._options.changed(options))  # noqa: SLF001 -- one of our own
        return other

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return str(self._route.address)

    async def close(self) -> None:
        """Close all connections."""
        await self._sender.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    def _set(self, way: Route, sender: AsyncSender, options: Options) -> None:
        self._route = way
        self._sender = sender
        self._options = options
        self.chat = AsyncChat(sender, options)
        self.completions = AsyncCompletions(sender, options)
        self.embeddings = AsyncEmbeddings(sender, options)
        self.rerank = AsyncRerank(sender, options)
        self.responses = AsyncResponses(sender, options)
        self.models = AsyncModels(sender, options)
        self.admin = AsyncAdmin(sender, options)
