"""From the body of a request to token ids and parameters.

That takes milliseconds for long prompts, so it runs beside the event loop.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from antiphon import __version__
from antiphon.core.errors import ContextOverflow, InvalidRequest, ModelNotFound
from antiphon.core.ports import Engine, SamplingParams
from antiphon.execution.engine_host import sampling
from antiphon.execution.engine_host.requests import (
    ChatRequest,
    CompletionRequest,
    decode_chat,
    decode_completion,
    decode_tokenize,
)
from antiphon.execution.engine_host.sampling import OPENAI_DEFAULTS, SamplingDefaults
from antiphon.execution.engine_host.shapes import ChatShape, CompletionShape, Shape
from antiphon.execution.engine_host.template import ChatTemplate

MAX_PROMPTS = 64
"""Prompts in one request to ``/v1/completions``."""
MAX_COUNTED = 1 << 21
"""Characters of a conversation whose tokens are counted: some need a second for each million, and other calls wait meanwhile."""


class Prompt(msgspec.Struct, frozen=True):
    """A prompt as the engine takes it."""

    tokens: Sequence[int]
    params: SamplingParams


class Work(msgspec.Struct, frozen=True):
    """A request, ready to be answered."""

    shape: Shape
    prompts: tuple[Prompt, ...]
    stops: tuple[str, ...]
    stream: bool


class Tokenized(msgspec.Struct, frozen=True):
    """Answer of ``POST /tokenize``."""

    count: int
    max_model_len: int
    """Tokens that prompt and answer may have together."""
    tokens: Sequence[int]
    token_strs: None = None


class Preparation:
    """Reads requests for the model of one engine, which callers know as ``name`` and, with an adapter, as ``name:adapter``."""

    def __init__(self, engine: Engine, name: str, defaults: SamplingDefaults = OPENAI_DEFAULTS) -> None:
        info = engine.info
        self._engine = engine
        self._defaults = defaults
        self._context = info.context_length
        self._vocabulary = info.vocabulary
        self._template = ChatTemplate(engine)
        self._adapters = {name: None} | {f"{name}:{adapter}": adapter for adapter in info.adapters}
        self._longest = max(len(engine.token_bytes(token)) for token in range(info.vocabulary))
        identity = f"{name} {info.model} {info.precision} {info.vocabulary} {__version__}"
        self.fingerprint = f"fp_{hashlib.sha256(identity.encode()).hexdigest()[:10]}"

    @property
    def names(self) -> list[str]:
        """All names that a request may give as its model."""
        return list(self._adapters)

    def chat(self, body: bytes) -> Work:
        """Read a body of ``/v1/chat/completions``. Raises InvalidRequest or one of its kinds, or ModelNotFound."""
        request = decode_chat(body)
        adapter = self._adapter(request.model)
        params = sampling.sampling_params(request, adapter=adapter, defaults=self._defaults)
        stops = sampling.stop_strings(request)
        pieces = self._template.render(request.messages, request.chat_template_kwargs)
        self._check_size(sum(map(len, pieces)), "messages")
        prompt = self._prompt(request, self._encoded_pieces(pieces), params, "messages")
        return Work(self._shape(ChatShape, request), (prompt,), stops, bool(request.stream))

    def tokenize(self, body: bytes) -> Tokenized:
        """Read a body of ``/tokenize``. It may have more tokens than the context. Raises as ``chat`` does."""
        request = decode_tokenize(body)
        self._adapter(request.model)
        pieces = self._template.render(request.messages, request.chat_template_kwargs)
        characters = sum(map(len, pieces))
        if characters > max(MAX_COUNTED, self._context * self._longest):
            raise InvalidRequest(
                f"the conversation has {characters} characters; tokens of at most {MAX_COUNTED} are counted at once",
                remedy="count it in parts",
                param="messages",
            )
        tokens = self._encoded_pieces(pieces)
        return Tokenized(len(tokens), self._context, tokens)

    def completion(self, body: bytes) -> Work:
        """Read a body of ``/v1/completions``. Raises as ``chat`` does."""
        request = decode_completion(body)
        sampling.check_best_of(request)
        params = sampling.sampling_params(request, adapter=self._adapter(request.model), defaults=self._defaults)
        stops = sampling.stop_strings(request)
        prompts = [self._prompt(request, tokens, params, param) for tokens, param in self._prompts(request)]
        return Work(self._shape(CompletionShape, request), tuple(prompts), stops, bool(request.stream))

    def _adapter(self, model: str) -> str | None:
        if model not in self._adapters:
            raise ModelNotFound(
                f'model "{model[:200]}" is not served here', remedy=f"name one of {', '.join(self._adapters)}", param="model"
            )
        return self._adapters[model]

    def _encoded_pieces(self, pieces: Sequence[str]) -> list[int]:
        """The tokens of a rendered conversation."""
        return [token for piece in pieces for token in self._engine.encode(piece)]

    def _prompt(
        self, request: ChatRequest | CompletionRequest, tokens: Sequence[int], params: SamplingParams, param: str
    ) -> Prompt:
        bound = sampling.bound_tokens(request, len(tokens), self._context, param, self._defaults.max_tokens)
        return Prompt(tokens, msgspec.structs.replace(params, max_tokens=bound))

    def _shape(self, kind: type[Shape], request: ChatRequest | CompletionRequest) -> Shape:
        options = request.stream_options
        return kind(
            request.model,
            self.fingerprint,
            logprobs=sampling.wants_logprobs(request),
            include_usage=options is not None and bool(options.include_usage),
        )

    def _prompts(self, request: CompletionRequest) -> list[tuple[Sequence[int], str]]:
        """Token ids of each prompt, and the field that it stands in."""
        given = request.prompt
        if isinstance(given, str):
            return [(self._encoded(given, "prompt"), "prompt")]
        if given and all(isinstance(item, int) for item in given):
            return [(self._checked(given, "prompt"), "prompt")]
        if not given or any(isinstance(item, int) for item in given):
            raise InvalidRequest(
                "`prompt` is neither a text nor token ids nor a list of either",
                remedy="give a text, a list of texts, a list of token ids, or a list of lists of token ids",
                param="prompt",
            )
        if len(given) > MAX_PROMPTS:
            raise InvalidRequest(f"`prompt` has {len(given)} prompts", remedy=f"give at most {MAX_PROMPTS}", param="prompt")
        fields = [f"prompt[{position}]" for position in range(len(given))]
        return [
            (self._encoded(item, field) if isinstance(item, str) else self._checked(item, field), field)
            for item, field in zip(given, fields, strict=True)
        ]

    def _encoded(self, text: str, field: str) -> list[int]:
        self._check_size(len(text), field)
        if not text:
            raise InvalidRequest(f"`{field}` is empty", remedy="give a text of at least one token", param=field)
        return self._engine.encode(text)

    def _checked(self, ids: object, field: str) -> list[int]:
        """Token ids, all of them known to the model."""
        assert isinstance(ids, list)
        if not ids:
            raise InvalidRequest(f"`{field}` is empty", remedy="give at least one token", param=field)
        for position, token in enumerate(ids):
            if not 0 <= token < self._vocabulary:
                path = f"{field}[{position}]"
                raise InvalidRequest(
                    f"`{path}` is {sampling.shown(token)}", remedy=f"give token ids from 0 to {self._vocabulary - 1}", param=path
                )
        return ids

    def _check_size(self, characters: int, field: str) -> None:
        """Refuse what cannot fit, however it were tokenised, before time goes into tokenising it."""
        if characters > self._context * self._longest:
            raise ContextOverflow(
                f"the prompt has {characters} characters, more than fit into this model's context of {self._context} tokens",
                remedy="shorten the prompt",
                param=field,
            )
