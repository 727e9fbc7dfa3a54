"""Asks one replica: says the call in the server's words, sends it, and sets up what takes the answer."""

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Handle, Sink
from antiphon.core.types import Call
from antiphon.execution.executor.answer import Answer
from antiphon.execution.executor.passed import PassedStream, PassedWhole
from antiphon.execution.executor.translated import TranslatedStream, TranslatedWhole
from antiphon.execution.executor.translation import translated
from antiphon.execution.providers import Provider


class NoHandle:
    """Handle of a call that is over before it began."""

    __slots__ = ()

    def cancel(self, reason: str) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class Replica:
    """One model at one provider."""

    def __init__(self, provider: Provider, upstream: str) -> None:
        self._provider = provider
        self._upstream = upstream
        self._name = f"{provider.name}/{upstream}"

    @property
    def name(self) -> str:
        return self._name

    def start(self, call: Call, sink: Sink) -> Handle:
        call.trail.append(self._name)
        provider, upstream = self._provider, self._upstream
        answer: Answer
        try:
            passing = provider.passing.get(call.endpoint)
            if passing is not None:
                prepared = provider.prepare(call, upstream)
                renamed = (upstream, call.model) if call.model != upstream else None
                if call.stream and passing.watch is not None:
                    watch = passing.watch(prepared.strips_usage)
                    answer = PassedStream(sink, provider, call, passing, watch, renamed)
                else:
                    answer = PassedWhole(sink, provider, call, passing, renamed)
            else:
                translation = translated(call, provider, upstream)
                prepared = provider.prepare(translation.call, upstream)
                answer = (
                    TranslatedStream(sink, provider, call, translation)
                    if call.stream
                    else TranslatedWhole(sink, provider, call, translation)
                )
        except AntiphonError as error:
            sink.fail(error)
            return NoHandle()
        extra = b"x-request-id: %b\r\n" % call.id.encode("latin-1", "replace")
        answer.exchange = provider.pool.request_prepared(prepared.head, extra, prepared.body, answer)
        return answer
