"""Asks one replica: says the call in the server's words, sends it, and sets up what takes the answer."""

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Handle, Sink
from antiphon.core.types import Call
from antiphon.execution.executor.answer import Answer
from antiphon.execution.executor.gathered import GatheredStream
from antiphon.execution.executor.passed import PassedStream, PassedWhole
from antiphon.execution.executor.passed_media import PassedMedia
from antiphon.execution.executor.translated import TranslatedStream, TranslatedWhole
from antiphon.execution.executor.translation import translated
from antiphon.execution.providers import Provider
from antiphon.execution.wire.dialect import Passing


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
        self._name = f"{provider.server.name}/{upstream}"

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
                answer = self._passed(call, sink, passing)
            else:
                translation = translated(call, provider, upstream)
                prepared = provider.prepare(translation.call, upstream)
                stream = translation.stream
                if stream is None:
                    answer = TranslatedWhole(sink, provider, call, translation.read_whole)
                elif call.stream:
                    answer = TranslatedStream(sink, provider, call, stream)
                elif stream.outbound.streams_only:
                    answer = GatheredStream(sink, provider, call, stream)
                else:
                    answer = TranslatedWhole(sink, provider, call, translation.read_whole)
        except AntiphonError as error:
            sink.fail(error)
            return NoHandle()
        extra = b"x-request-id: %b\r\n%b" % (call.id.encode("latin-1", "replace"), prepared.fields)
        answer.exchange = provider.server.pool.request_prepared(prepared.head, extra, prepared.body, answer)
        return answer

    def _passed(self, call: Call, sink: Sink, passing: Passing) -> Answer:
        """What takes an answer that goes on as it comes."""
        provider, upstream = self._provider, self._upstream
        renamed = (upstream, call.model) if call.model != upstream else None
        if passing.any_type:
            return PassedMedia(sink, provider, call, passing, renamed)
        if call.stream and passing.watch is not None:
            return PassedStream(sink, provider, call, passing, passing.watch(not call.wants_usage), renamed)
        return PassedWhole(sink, provider, call, passing, renamed)
