"""Models whose answers are kept, so that a caller can go on from them by name.

What a call continues is put into its ``input`` before any model is asked. The last event of an answer waits until the answer is
kept, so whoever has seen it can go on, with any worker. One that cannot be kept goes out all the same, and says so:
``"store": false``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from antiphon.core.errors import AntiphonError, InvalidRequest, PreviousResponseNotFound
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.response_store import ResponseStore, StoredResponse
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.execution.wire.chat import unsupported
from antiphon.execution.wire.responses import conversation, ids
from antiphon.execution.wire.responses.conversation import Asked, Finale
from antiphon.execution.wire.responses.errors import failed_event

CONTINUED: Final = ("responses", "responses/input_tokens")
"""Endpoints at which a call may continue a response."""
_OFF: Final = "the operator has turned the keeping of responses off"
_ITEM: Final = re.compile(r"\binput\[(\d+)\]")


class Remembered:
    """A model whose responses are kept. Without a store none is; those of servers that speak the dialect are kept by them."""

    def __init__(self, model: Model, store: ResponseStore | None) -> None:
        self._model = model
        self._store = store

    @property
    def name(self) -> str:
        return self._model.name

    def start(self, call: Call, sink: Sink) -> Handle:
        turn = _Turn(self._model, self._store, call, sink)
        try:
            turn.begin()
        except AntiphonError as error:
            turn.fail(error)
        return turn


class _Turn:
    """One call. It is the sink of the model, and holds it for the caller."""

    def __init__(self, model: Model, store: ResponseStore | None, call: Call, sink: Sink) -> None:
        self._model = model
        self._store = store
        self._call = call
        self._sink = sink
        self._handle: Handle | None = None
        self._over = self._paused = False
        self._asked = Asked()
        self._named: dict[int, str] = {}
        self._before = 0
        """Items of what it continues."""
        self._new: list[msgspec.Raw] = []
        self._body: list[bytes] = []
        self._first = self._latest = b""
        """Frames of a stream, for the case that it breaks off."""
        self._finale: Finale | None = None

    # -- what it continues

    def begin(self) -> None:
        """Ask the model, as soon as it is known what is continued. Raises AntiphonError for a request that is none."""
        call = self._call
        asked = self._asked = conversation.read_asked(call.body)
        if asked.store and self._store is None:
            raise unsupported("store", _OFF)
        previous = asked.previous_response_id or ""
        self._named = conversation.references(asked, call.body)
        self._new = asked.items
        if ids.is_ours(previous):
            if self._store is None:
                raise PreviousResponseNotFound(previous, _OFF)
            self._store.conversation(call.principal.name, previous, self._continue)
        elif self._named:
            self._continue(())
        else:
            self._ask(call)

    def _continue(self, turns: Sequence[StoredResponse] | AntiphonError) -> None:
        if self._over:
            return
        try:
            before = _items(turns)
        except AntiphonError as error:
            self.fail(error)
            return
        self._before = len(before)
        if not self._named or self._store is None:
            self._resolve(before, {})
        else:
            responses = list(dict.fromkeys(ids.response_of(name) for name in self._named.values()))
            self._store.find(self._call.principal.name, responses, lambda found: self._resolve(before, found))

    def _resolve(self, before: list[msgspec.Raw], found: Mapping[str, StoredResponse] | AntiphonError) -> None:
        if self._over:
            return
        try:
            kept = _items(found if isinstance(found, AntiphonError) else tuple(found.values()))
            self._new = conversation.resolved(self._asked, self._named, conversation.by_name(kept))
        except AntiphonError as error:
            self.fail(error)
            return
        body = conversation.expanded(self._call.body, [*before, *self._new])
        self._ask(msgspec.structs.replace(self._call, body=body))

    def _ask(self, call: Call) -> None:
        handle = self._model.start(call, self)
        if self._over:
            handle.cancel("cancelled while it began")
            return
        self._handle = handle
        if self._paused:
            handle.pause()

    # -- sink of the model

    def head(self, status: int, headers: Headers) -> None:
        self._sink.head(status, headers)

    def frame(self, frame: Frame) -> None:
        if not self._call.stream:
            self._body.append(frame.raw)
            return
        self._first = self._first or frame.raw
        self._latest = frame.raw
        finale = conversation.finale(frame.raw)
        if finale is None:
            self._sink.frame(frame)
            return
        self._finale = finale
        if finale.before:
            self._sink.frame(Frame(finale.before, frame.content, frame.dialect))

    def end(self, usage: Usage | None) -> None:
        if self._call.stream:
            finale = self._finale
            if finale is None:
                self._finish()
                self._sink.end(usage)
            else:
                self._keep(finale.response, lambda response: self._last(finale.event(response), usage))
            return
        body = b"".join(self._body)
        if conversation.our_name(body):
            self._keep(body, lambda response: self._last(response, usage))
        else:
            self._last(body, usage)

    def fail(self, error: AntiphonError) -> None:
        self._finish()
        failed = failed_event(self._first, self._latest, error)
        if failed:
            self._sink.frame(Frame(failed, dialect=self._call.dialect))
        self._sink.fail(_placed(error, self._before))

    def _last(self, raw: bytes, usage: Usage | None) -> None:
        self._finish()
        self._sink.frame(Frame(raw, dialect=self._call.dialect))
        self._sink.end(usage)

    def _finish(self) -> Handle | None:
        """Nothing follows. Let go of whoever answers, which holds this as its sink; who that was."""
        self._over = True
        handle, self._handle = self._handle, None
        return handle

    # -- what is kept of it

    def _keep(self, response: bytes, then: Callable[[bytes], None]) -> None:
        """Keep the response, and go on with it as the caller is to see it."""

        def told(error: AntiphonError | None) -> None:
            if not self._over:
                then(conversation.with_store(response, kept=error is None))

        if self._store is None or self._asked.store is False:
            then(conversation.with_store(response, kept=False))
            return
        name = conversation.our_name(response)
        stored = StoredResponse(
            name,
            conversation.with_store(response, kept=True),
            conversation.kept_input(self._new, name),
            self._asked.previous_response_id or "",
        )
        self._store.put(self._call.principal.name, stored, told)

    # -- handle of the caller

    def cancel(self, reason: str) -> None:
        handle = self._finish()
        if handle is not None:
            handle.cancel(reason)

    def pause(self) -> None:
        self._paused = True
        if self._handle is not None:
            self._handle.pause()

    def resume(self) -> None:
        self._paused = False
        if self._handle is not None:
            self._handle.resume()


def _items(turns: Sequence[StoredResponse] | AntiphonError) -> list[msgspec.Raw]:
    """The items of responses, what was asked before what was answered. Raises what the store has told in their place."""
    if isinstance(turns, AntiphonError):
        raise turns
    kept = (conversation.asked_and_answered(turn.input, turn.response) for turn in turns)
    return [item for asked, answered in kept for item in (*asked, *answered)]


def _placed(error: AntiphonError, before: int) -> AntiphonError:
    """An error that names items as the caller counts them, where others were put before them."""
    if not before or not isinstance(error, InvalidRequest):
        return error

    def place(found: re.Match[str]) -> str:
        at = int(found[1])
        return f"input[{at - before}]" if at >= before else f"previous_response_id: item {at}"

    error.message = _ITEM.sub(place, error.message)
    error.remedy = _ITEM.sub(place, error.remedy)
    if error.param is not None and (found := _ITEM.match(error.param)) is not None:
        error.param = _ITEM.sub(place, error.param) if int(found[1]) >= before else "previous_response_id"
    return error
