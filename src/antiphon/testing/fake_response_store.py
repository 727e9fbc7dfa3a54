"""A store of responses for tests."""

from collections.abc import Callable, Sequence

from antiphon.core.errors import AntiphonError
from antiphon.core.response_store import (
    Conversation,
    Deleted,
    Found,
    Kept,
    ResponseStats,
    StoredResponse,
    broken_off,
    unavailable,
)


class FakeResponseStore:
    """Keeps every response for ever.

    While ``down`` is true everything fails. While ``late`` is true, answers come only with ``answer``, as they do where the store
    is a file or another process.
    """

    def __init__(self) -> None:
        self.down = False
        self.late = False
        self.responses: dict[tuple[str, str], StoredResponse] = {}
        """By tenant and id."""
        self._waiting: list[Callable[[], None]] = []
        self._kept = self._errors = 0

    def answer(self) -> None:
        """Answer what waits."""
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell()

    def put(self, tenant: str, response: StoredResponse, then: Kept) -> None:
        def run() -> None:
            error = self._failed() or self._broken(tenant, response)
            if error is None:
                self.responses[tenant, response.id] = response
                self._kept += 1
            then(error)

        self._run(run)

    def find(self, tenant: str, ids: Sequence[str], then: Found) -> None:
        def run() -> None:
            found = {name: self.responses[tenant, name] for name in ids if (tenant, name) in self.responses}
            then(self._failed() or found)

        self._run(run)

    def conversation(self, tenant: str, response: str, then: Conversation) -> None:
        def run() -> None:
            then(self._failed() or self._turns(tenant, response))

        self._run(run)

    def delete(self, tenant: str, response: str, then: Deleted) -> None:
        def run() -> None:
            error = self._failed()
            then(self.responses.pop((tenant, response), None) is not None if error is None else error)

        self._run(run)

    def stats(self) -> ResponseStats:
        return ResponseStats(self._kept, self._errors, 0, len(self.responses))

    def _turns(self, tenant: str, response: str) -> list[StoredResponse] | AntiphonError:
        turns: list[StoredResponse] = []
        name = response
        while name:
            if (tenant, name) not in self.responses:
                return broken_off(response, name)
            turns.insert(0, self.responses[tenant, name])
            name = turns[0].previous
        return turns

    def _broken(self, tenant: str, response: StoredResponse) -> AntiphonError | None:
        before = self._turns(tenant, response.previous)
        return before if isinstance(before, AntiphonError) else None

    def _failed(self) -> AntiphonError | None:
        if not self.down:
            return None
        self._errors += 1
        return unavailable()

    def _run(self, run: Callable[[], None]) -> None:
        if self.late:
            self._waiting.append(run)
        else:
            run()
