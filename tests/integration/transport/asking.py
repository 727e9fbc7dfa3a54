"""A call through a pool of its own."""

import uvloop

from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route
from antiphon.transport.fetching import Response, fetch

POST = ("POST", "/v1/chat/completions", ((b"content-type", b"application/json"),), b'{"model":"m","messages":[]}')


def ask(origin: Origin, route: Route, times: int = 1) -> Response:
    """The last of so many answers."""

    async def main() -> Response:
        pool = ClientPool(origin, ClientTimeouts(connect=5), route=route)
        try:
            for _ in range(times):
                answer = await fetch(pool, *POST)
            return answer
        finally:
            await pool.close()

    return uvloop.run(main())
