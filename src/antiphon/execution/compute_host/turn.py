"""One pass of the encoder, shared by the requests that wait. Runs in the encoder's thread and touches nothing of the queue's."""

import logging
from collections import deque
from collections.abc import Sequence

from antiphon.core.errors import AntiphonError, ContextOverflow, EngineFailed
from antiphon.core.ports import Encoder
from antiphon.execution.compute_host import responses
from antiphon.execution.compute_host.limits import ComputeLimits
from antiphon.execution.compute_host.requests import EmbeddingRequest

log = logging.getLogger(__name__)


class Progress:
    """How far a request has come. Of all its fields only a turn writes."""

    def __init__(self, request: EmbeddingRequest) -> None:
        self.request = request
        self.vectors: list[Sequence[float]] = []
        self.tokens = 0
        self.body = b""
        """The answer, once the last text is encoded."""
        self.error: AntiphonError | None = None


class _Share:
    """What one request has of a turn."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.texts: list[str] = []
        self.tokens = 0

    @property
    def _next(self) -> int:
        return len(self.progress.vectors) + len(self.texts)

    @property
    def more(self) -> bool:
        """There are texts left to take."""
        return self.progress.error is None and self._next < len(self.progress.request.texts)

    def take(self, encoder: Encoder, limits: ComputeLimits) -> int:
        """Take one text; its number of tokens."""
        request, index = self.progress.request, self._next
        try:
            count = encoder.count_tokens(request.texts[index])
        except Exception as error:  # the encoder is a plugin
            self.progress.error = _encoder_failed(error)
            return 0
        if count > limits.max_text_tokens:
            self.progress.error = ContextOverflow(
                f"`{request.place(index)}` has {count:,} tokens; this encoder takes at most {limits.max_text_tokens:,} of one text",
                remedy="split it into several texts, and take the mean of their vectors if you need one",
                param=request.place(index),
            )
            return 0
        self.texts.append(request.texts[index])
        self.tokens += count
        return count


def take_turn(encoder: Encoder, waiting: Sequence[Progress], limits: ComputeLimits) -> int:
    """Encode some hundred tokens, a text of each request in turn, and write the answers that are complete.

    Gives back the number of characters that were encoded.
    """
    shares = [_Share(progress) for progress in waiting]
    line = deque(shares)
    tokens = 0
    while line and tokens < limits.turn_tokens:
        share = line.popleft()
        tokens += share.take(encoder, limits)
        if share.more:
            line.append(share)
    busy = [share for share in shares if share.texts and share.progress.error is None]
    if busy:
        _encode(encoder, busy)
    return sum(len(text) for share in busy for text in share.texts)


def _encode(encoder: Encoder, shares: Sequence[_Share]) -> None:
    """Encode the shares together. Where that fails each goes alone, so that no request falls for another's text."""
    texts = [text for share in shares for text in share.texts]
    try:
        vectors = deque(encoder.encode(texts))
        if len(vectors) != len(texts):
            raise ValueError(f"{len(vectors)} vectors for {len(texts)} texts")
    except Exception as error:  # the encoder is a plugin
        if len(shares) > 1:
            for share in shares:
                _encode(encoder, [share])
            return
        shares[0].progress.error = _encoder_failed(error)
        return
    for share in shares:
        progress = share.progress
        progress.vectors += [vectors.popleft() for _ in share.texts]
        progress.tokens += share.tokens
        request = progress.request
        if len(progress.vectors) == len(request.texts):
            progress.body = responses.render(request.model, progress.vectors, progress.tokens, request.base64)


def _encoder_failed(error: Exception) -> EngineFailed:
    log.error("the encoder failed", exc_info=error)
    return EngineFailed("the encoder failed on this request", remedy="the log has the details")
