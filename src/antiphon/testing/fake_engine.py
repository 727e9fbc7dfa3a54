"""An engine without a model: scripted answers, a vocabulary of bytes, steps that the event loop drives."""

import asyncio
from collections import deque
from collections.abc import Sequence

import msgspec

from antiphon.core.errors import AntiphonError, ContextOverflow, EngineFailed, QueueFull, UnsupportedParameter
from antiphon.core.ports import EngineInfo, EngineStats, SamplingParams, TokenListener
from antiphon.core.types import Usage

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
END = 258
"""Token id of ``<|im_end|>``, which ends a turn."""

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class FakeAnswer(msgspec.Struct, frozen=True):
    """What the engine says to one prompt.

    ``texts`` holds one text per sequence; with fewer texts than sequences they are said in turn. A text given as a list of byte
    strings is said in exactly these tokens, one a step, or ``per_step`` of them.
    """

    texts: Sequence[str | Sequence[bytes]] = ("Hello, world!",)
    per_step: int = 1
    """Tokens of a sequence in one step."""
    logprob: float = -0.25
    """Log-probability of every token."""
    cached_tokens: int = 0
    fail_after: int = -1
    """Steps after which the generation fails with ``error``; -1 never."""
    error: AntiphonError | None = None
    """Default: EngineFailed."""


class FakeEngine:
    """Keeps to the ``Engine`` port. Use it on a running event loop.

    Tokens 0..255 are the bytes, then come the control tokens, then ``pieces``: texts of several bytes that are one token each.
    Prompts get the ``answers`` in order, and the last one again when they have run out. A step is taken each turn of the loop, or,
    with ``by_hand``, whenever ``step`` is called.
    """

    def __init__(
        self,
        answers: Sequence[FakeAnswer | str] = (FakeAnswer(),),
        *,
        pieces: Sequence[bytes] = (),
        info: EngineInfo | None = None,
        max_running: int = 64,
        max_waiting: int = 256,
        by_hand: bool = False,
    ) -> None:
        self._answers = deque(FakeAnswer((answer,)) if isinstance(answer, str) else answer for answer in answers)
        self._bytes = [bytes((byte,)) for byte in range(256)] + [b""] * len(CONTROL)
        for piece in pieces:
            self._piece(piece)
        self._info = info or fake_info()
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._by_hand = by_hand
        self._queue: list[_FakeGeneration] = []
        self._stepping = False
        self._closed = False
        self.started: list[tuple[list[int], SamplingParams]] = []
        """All prompts that were taken, with their parameters."""
        self.cancelled = 0
        """Generations that were cancelled."""
        self.generated = 0

    @property
    def info(self) -> EngineInfo:
        return msgspec.structs.replace(self._info, vocabulary=len(self._bytes))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        rest = text
        while rest:
            for offset, control in enumerate(CONTROL):
                if rest.startswith(control):
                    ids.append(256 + offset)
                    rest = rest[len(control) :]
                    break
            else:
                ids += rest[0].encode()
                rest = rest[1:]
        return ids

    def token_bytes(self, token: int) -> bytes:
        return self._bytes[token]

    def start(self, prompt: Sequence[int], params: SamplingParams, listener: TokenListener) -> "_FakeGeneration":
        if self._closed:
            raise EngineFailed("the engine is closed")
        if params.adapter is not None and params.adapter not in self._info.adapters:
            raise UnsupportedParameter(f'adapter "{params.adapter}" is not loaded', remedy="leave it out", param="model")
        if len(prompt) + params.max_tokens > self._info.context_length:
            raise ContextOverflow
        if len(self._queue) >= self._max_running + self._max_waiting:
            raise QueueFull(retry_after=1)
        answer = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
        texts = [self._tokens(answer.texts[index % len(answer.texts)]) for index in range(params.n)]
        generation = _FakeGeneration(self, answer, texts, len(prompt), params, listener)
        self.started.append((list(prompt), params))
        self._queue.append(generation)
        self._soon()
        return generation

    def step(self) -> None:
        """Let every running generation say its next tokens."""
        for generation in self._queue[: self._max_running]:
            if generation.step():
                self._remove(generation)

    def fail(self, error: AntiphonError) -> None:
        """Fail all that runs or waits, as an engine does whose device is gone."""
        queue, self._queue = self._queue, []
        for generation in queue:
            generation.listener.failed(error)

    def stats(self) -> EngineStats:
        running = min(len(self._queue), self._max_running)
        return EngineStats(running, len(self._queue) - running, running / self._max_running, self.generated)

    def close(self) -> None:
        self._closed = True
        self.fail(EngineFailed("the engine was closed"))

    def cancel(self, generation: "_FakeGeneration") -> None:
        """Forget a generation; its own ``cancel`` comes here."""
        if generation in self._queue:
            self._queue.remove(generation)
            self.cancelled += 1

    def _remove(self, generation: "_FakeGeneration") -> None:
        if generation in self._queue:
            self._queue.remove(generation)

    def _tokens(self, text: str | Sequence[bytes]) -> list[int]:
        return self.encode(text) if isinstance(text, str) else [self._piece(piece) for piece in text]

    def _piece(self, piece: bytes) -> int:
        """The token for some bytes, a new one where there is none."""
        if piece not in self._bytes:
            self._bytes.append(piece)
        return self._bytes.index(piece)

    def _soon(self) -> None:
        if not self._by_hand and not self._stepping:
            self._stepping = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._stepping = False
        self.step()
        if self._queue:
            self._soon()


class _FakeGeneration:
    """A prompt being answered by the script."""

    def __init__(
        self,
        engine: FakeEngine,
        answer: FakeAnswer,
        texts: list[list[int]],
        prompt: int,
        params: SamplingParams,
        listener: TokenListener,
    ) -> None:
        self.listener = listener
        self._engine = engine
        self._answer = answer
        self._texts = texts
        self._prompt = prompt
        self._params = params
        self._said = [0] * len(texts)
        self._ended: set[int] = set()
        self._steps = 0
        self._over = False

    def cancel(self) -> None:
        self._over = True
        self._engine.cancel(self)

    def step(self) -> bool:
        """Say the next tokens; whether all is said."""
        if self._steps == self._answer.fail_after:
            self.listener.failed(self._answer.error or EngineFailed("scripted failure"))
            return True
        self._steps += 1
        for index in range(len(self._texts)):
            if not self._over and index not in self._ended:
                self._say(index)
        if not self._over and len(self._ended) == len(self._texts):
            total = sum(self._said)
            self.listener.done(Usage(self._prompt, total, self._prompt + total, self._answer.cached_tokens))
            return True
        return self._over

    def _say(self, index: int) -> None:
        said = self._said[index]
        ids = self._texts[index][said : min(said + self._answer.per_step, self._params.max_tokens)]
        if ids:
            self._said[index] += len(ids)
            self._engine.generated += len(ids)
            self.listener.tokens(index, ids, [self._answer.logprob] * len(ids) if self._params.logprobs else [])
        if self._over:
            return
        if self._said[index] >= len(self._texts[index]):
            self._ended.add(index)
            self.listener.finished(index, "stop")
        elif self._said[index] >= self._params.max_tokens:
            self._ended.add(index)
            self.listener.finished(index, "length")


def fake_info(
    model: str = "fake", *, context_length: int = 4096, adapters: Sequence[str] = (), chat_template: str = CHAT_TEMPLATE
) -> EngineInfo:
    """What a fake engine says of its model."""
    return EngineInfo(
        model=model,
        context_length=context_length,
        vocabulary=256 + len(CONTROL),
        chat_template=chat_template,
        bos_token="",
        eos_token="<|im_end|>",  # noqa: S106  # a token of a vocabulary
        eos_token_ids=(END,),
        precision="none",
        adapters=tuple(adapters),
        control_tokens=CONTROL,
    )
