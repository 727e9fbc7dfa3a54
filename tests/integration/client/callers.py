"""The two clients behind one face, so that a test holds both to the same."""

import asyncio
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Protocol

from antiphon_client import AsyncClient, Client


class Caller(Protocol):
    """``call("chat.create", model=...)`` calls that method; ``items("chat.stream", ...)`` gives what its stream gives."""

    def call(self, method: str, *args: Any, **params: Any) -> Any: ...

    def items(self, method: str, *, most: int | None = None, **params: Any) -> list[Any]: ...

    def final(self, method: str, **params: Any) -> Any: ...

    def close(self) -> None: ...


class Blocking:
    """A Client."""

    def __init__(self, base_url: str, api_key: str = "sk-never-to-be-seen", **options: Any) -> None:
        self.client = Client(base_url, api_key, **options)

    def call(self, method: str, *args: Any, **params: Any) -> Any:
        return attrgetter(method)(self.client)(*args, **params)

    def items(self, method: str, *, most: int | None = None, **params: Any) -> list[Any]:
        items: list[Any] = []
        with self.call(method, **params) as stream:
            for item in stream:
                items.append(item)
                if len(items) == most:
                    break
        return items

    def final(self, method: str, **params: Any) -> Any:
        with self.call(method, **params) as stream:
            return stream.get_final_response() if method.startswith("responses") else stream.get_final_completion()

    def close(self) -> None:
        self.client.close()


class Coroutines:
    """An AsyncClient on a loop of its own."""

    def __init__(self, base_url: str, api_key: str = "sk-never-to-be-seen", **options: Any) -> None:
        self.runner = asyncio.Runner()
        self.client = AsyncClient(base_url, api_key, **options)

    def call(self, method: str, *args: Any, **params: Any) -> Any:
        return self.run(lambda: attrgetter(method)(self.client)(*args, **params))

    def items(self, method: str, *, most: int | None = None, **params: Any) -> list[Any]:
        async def read() -> list[Any]:
            items: list[Any] = []
            async with attrgetter(method)(self.client)(**params) as stream:
                async for item in stream:
                    items.append(item)
                    if len(items) == most:
                        break
            return items

        return list(self.run(read))

    def final(self, method: str, **params: Any) -> Any:
        async def read() -> Any:
            async with attrgetter(method)(self.client)(**params) as stream:
                return await (stream.get_final_response() if method.startswith("responses") else stream.get_final_completion())

        return self.run(read)

    def run(self, make: Callable[[], Any]) -> Any:
        async def outer() -> Any:
            return await make()

        return self.runner.run(outer())

    def close(self) -> None:
        self.run(self.client.close)
        self.runner.close()
