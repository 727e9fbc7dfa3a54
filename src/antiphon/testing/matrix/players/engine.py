"""The host of a model that a built-in engine runs: OpenAI's dialect, as far as the engine can answer in it."""

from collections.abc import Sequence

from antiphon.core.errors import AntiphonError
from antiphon.execution.engine_host.requests import decode_chat
from antiphon.testing.matrix.players._openai import OpenAI
from antiphon.testing.matrix.telling import Answer, Ask
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Step


class _Engine(OpenAI):
    def whole(self, answer: Answer) -> Sequence[Step] | None:
        return super().whole(answer) if _can_say(answer) else None

    def stream(self, answer: Answer) -> Sequence[Step] | None:
        return super().stream(answer) if _can_say(answer) else None

    def asked(self, request: RecordedRequest) -> Ask:
        try:
            decode_chat(request.body)  # the host's own reader, which refuses what no engine does
        except AntiphonError as refused:
            raise AssertionError(str(refused)) from refused
        return super().asked(request)


def _can_say(answer: Answer) -> bool:
    return not (answer.thinking or answer.reasoning_tokens or answer.finish == "content_filter")


plugin = _Engine("/v1", "authorization", "", "engine")
