"""One sequence that an engine generates, on its way from tokens to text."""

import codecs
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from antiphon.execution.engine_host.stops import StopMatcher

_UTF8 = codecs.getincrementaldecoder("utf-8")


class Token(msgspec.Struct, frozen=True, gc=False):
    """A generated token and its log-probability."""

    data: bytes
    """The bytes that it stands for: part of a character, perhaps, and none for a control token."""
    logprob: float
    start: int
    """Characters of the answer before it."""
    end: int
    """Characters of the answer once the last character that it touches is complete."""

    @property
    def text(self) -> str:
        r"""The token as text; where it is none by itself, its bytes in OpenAI's notation, ``bytes:\xf0\x9f``."""
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in self.data)


class Piece(msgspec.Struct, frozen=True, gc=False):
    """What may go out of a sequence after a step."""

    text: str = ""
    tokens: Sequence[Token] = ()
    """Only where log-probabilities are wanted."""
    reason: str = ""
    """Why the sequence has ended with this piece, ``stop`` or ``length``; empty while it goes on."""


NOTHING = Piece()


class TextSequence:
    """Turns tokens into text, holding back incomplete characters and what may be the beginning of a stop string.

    Text and tokens stay in step: a token goes out with the last character that it touches. Where a stop string ends the text, the
    tokens that wrote nothing before it are left out.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], stops: Sequence[str], logprobs: bool, ends: frozenset[int]) -> None:
        self._token_bytes = token_bytes
        self._decode = _UTF8("replace")
        self._matcher = StopMatcher(stops)
        self._each = bool(stops) or logprobs
        self._logprobs = logprobs
        self._ends = ends
        self._decoded = 0
        self._waiting: deque[Token] = deque()
        self.count = 0
        """Tokens taken; with a stop string, up to the one that completed it."""
        self.ended = False

    def push(self, ids: Sequence[int], logprobs: Sequence[float]) -> Piece:
        """Take the tokens of a step. Nothing comes of them once the sequence has ended."""
        if self.ended:
            return NOTHING
        if not self._each:
            self.count += len(ids)
            return Piece(self._decode.decode(b"".join(map(self._token_bytes, ids))))
        text = ""
        for position, token in enumerate(ids):
            text += self._one(token, logprobs[position] if self._logprobs else 0.0)
            if self._matcher.matched:
                self.ended = True
                break
        return Piece(text, self._release(), "stop" if self.ended else "")

    def finish(self, reason: str) -> Piece:
        """The rest, once the engine has ended the sequence. A character that was never completed becomes U+FFFD."""
        if self.ended:
            return NOTHING
        text = self._matcher.feed(self._decode.decode(b"", True)) + self._matcher.flush()
        self.ended = True
        return Piece(text, self._release(), "stop" if self._matcher.matched else reason)

    def _one(self, token: int, logprob: float) -> str:
        data = self._token_bytes(token)
        start = self._decoded
        decoded = self._decode.decode(data)
        self._decoded += len(decoded)
        self.count += 1
        if self._logprobs and token not in self._ends:
            cut = bool(self._decode.getstate()[0])
            self._waiting.append(Token(data, logprob, start, self._decoded + cut))
        return self._matcher.feed(decoded)

    def _release(self) -> Sequence[Token]:
        """The waiting tokens whose text is out; once the sequence has ended, all that wrote some of it."""
        waiting, limit = self._waiting, self._matcher.released
        out: list[Token] = []
        while waiting and (waiting[0].end <= limit or (self.ended and (waiting[0].start < limit or not self._matcher.matched))):
            out.append(waiting.popleft())
        return out
