"""From the fields of a request to sampling parameters, with their ranges held."""

from typing import TypeVar

import msgspec

from antiphon.core.errors import ContextOverflow, InvalidRequest, UnsupportedParameter
from antiphon.core.ports import SamplingParams
from antiphon.execution.engine_host.requests import ChatRequest, CompletionRequest, ResponseFormat, SamplingRequest

MAX_N = 16
"""Answers to one prompt."""
MAX_STOPS = 16
"""Stop strings. OpenAI takes 4; more cost next to nothing."""
MAX_STOP_LENGTH = 1024
"""Characters of a stop string."""
COMPLETION_MAX_TOKENS = 16
"""Default of ``max_tokens`` at ``/v1/completions``, as OpenAI has it."""

T = TypeVar("T")


class SamplingDefaults(msgspec.Struct, frozen=True):
    """What holds for calls that do not say; as it stands here it is OpenAI's."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 0
    """Longest answer at the chat endpoint; 0 is what is left of the context."""


OPENAI_DEFAULTS = SamplingDefaults()


_SEEDS = range(-(2**63), 2**63)
_MIN_REPETITION_PENALTY = 0.01
"""Scores are divided by it, in 32-bit floats."""
_READABLE = 10**20
"""Integers from here on are told by their length: Python refuses to print very long ones."""


def shown(value: float) -> str:
    """A number for a message, shortened where it is long."""
    if isinstance(value, int) and abs(value) >= _READABLE:
        return f"{'-' if value < 0 else ''}10^{int(abs(value).bit_length() * 0.30103)} or so"
    return str(value) if isinstance(value, int) else f"{value:g}"


def check_range(name: str, value: float | None, low: float, high: float, *, above: bool = False) -> None:
    """Raise InvalidRequest where ``value`` lies outside ``low``..``high``; with ``above`` it may not equal ``low``."""
    if value is None or (low <= value <= high and not (above and value == low)):
        return
    wanted = f"a number above {low:g} and at most {high:g}" if above else f"a number from {low:g} to {high:g}"
    raise InvalidRequest(f"`{name}` is {shown(value)}", remedy=f"give {wanted}", param=name)


def sampling_params(
    request: ChatRequest | CompletionRequest, *, adapter: str | None, defaults: SamplingDefaults = OPENAI_DEFAULTS
) -> SamplingParams:
    """Sampling parameters of a request; ``max_tokens`` waits for the length of the prompt.

    Raises InvalidRequest or UnsupportedParameter, naming the field.
    """
    check_range("temperature", request.temperature, 0, 2)
    check_range("top_p", request.top_p, 0, 1, above=True)
    check_range("presence_penalty", request.presence_penalty, -2, 2)
    check_range("frequency_penalty", request.frequency_penalty, -2, 2)
    check_range("repetition_penalty", request.repetition_penalty, _MIN_REPETITION_PENALTY, 10)
    check_range("min_p", request.min_p, 0, 1)
    check_range("n", request.n, 1, MAX_N)
    check_range("top_k", request.top_k, 0, 2**31 - 1)
    if request.seed is not None and request.seed not in _SEEDS:
        raise InvalidRequest("`seed` does not fit into 64 bits", remedy="give a number from -2^63 to 2^63 - 1", param="seed")
    if request.stream_options is not None and not request.stream:
        raise InvalidRequest(
            "`stream_options` needs a stream", remedy='give "stream": true, or leave it out', param="stream_options"
        )
    json_object, json_schema = _format(request.response_format)
    return SamplingParams(
        max_tokens=1,
        n=_or(request.n, 1),
        temperature=_or(request.temperature, defaults.temperature),
        top_p=_or(request.top_p, defaults.top_p),
        top_k=_or(request.top_k, 0),
        min_p=_or(request.min_p, 0.0),
        presence_penalty=_or(request.presence_penalty, 0.0),
        frequency_penalty=_or(request.frequency_penalty, 0.0),
        repetition_penalty=_or(request.repetition_penalty, 1.0),
        seed=request.seed,
        logprobs=wants_logprobs(request),
        ignore_eos=bool(request.ignore_eos),
        json_object=json_object,
        json_schema=json_schema,
        adapter=adapter,
    )


def wants_logprobs(request: ChatRequest | CompletionRequest) -> bool:
    """Whether log-probabilities are asked for: true at the chat endpoint, 0 at the other. Raises UnsupportedParameter for more."""
    if isinstance(request, ChatRequest):
        return bool(request.logprobs)
    if request.logprobs:
        raise UnsupportedParameter(
            f"`logprobs` {shown(request.logprobs)} is not supported: this engine exposes the log-probabilities of the chosen "
            "tokens only, and the most probable ones need not be among them",
            remedy="give 0 for the chosen tokens, or leave it out",
            param="logprobs",
        )
    return request.logprobs is not None


def check_best_of(request: CompletionRequest) -> None:
    """Raise UnsupportedParameter where more answers are to be made than given back."""
    if request.best_of is not None and request.best_of != _or(request.n, 1):
        raise UnsupportedParameter(
            f"`best_of` {shown(request.best_of)} is not supported: every answer that is made is given back",
            remedy="leave it out, and choose among `n` answers yourself",
            param="best_of",
        )


def stop_strings(request: SamplingRequest) -> tuple[str, ...]:
    """The stop strings of a request, each once. Raises InvalidRequest."""
    if request.stop is None:
        return ()
    stops = [request.stop] if isinstance(request.stop, str) else request.stop
    if len(stops) > MAX_STOPS:
        raise InvalidRequest(f"`stop` has {len(stops)} strings", remedy=f"give at most {MAX_STOPS}", param="stop")
    for position, stop in enumerate(stops):
        path = "stop" if isinstance(request.stop, str) else f"stop[{position}]"
        if not stop:
            raise InvalidRequest(f"`{path}` is empty", remedy="give a text, or leave it out", param=path)
        if len(stop) > MAX_STOP_LENGTH:
            raise InvalidRequest(f"`{path}` has {len(stop)} characters", remedy=f"give at most {MAX_STOP_LENGTH}", param=path)
    return tuple(dict.fromkeys(stops))


def asked_tokens(request: ChatRequest | CompletionRequest) -> tuple[int | None, str]:
    """The upper bound of tokens that a request gives, or None, and the field that gives it. Raises InvalidRequest."""
    old, new = request.max_tokens, request.max_completion_tokens if isinstance(request, ChatRequest) else None
    if old is not None and new is not None and old != new:
        raise InvalidRequest(
            f"`max_tokens` is {shown(old)} and `max_completion_tokens` is {shown(new)}, and they mean the same",
            remedy="give one of them",
            param="max_completion_tokens",
        )
    field = "max_tokens" if new is None else "max_completion_tokens"
    bound = old if new is None else new
    if bound is not None and bound < 1:
        raise InvalidRequest(f"`{field}` is {shown(bound)}", remedy="give at least 1", param=field)
    return bound, field


def bound_tokens(request: ChatRequest | CompletionRequest, prompt_tokens: int, context: int, param: str, usual: int = 0) -> int:
    """Upper bound of tokens for a prompt: what was asked for, else ``usual``, 0 being all there is room for.

    Raises ContextOverflow where it does not fit.
    """
    asked, field = asked_tokens(request)
    room = context - prompt_tokens
    if room < 1:
        raise ContextOverflow(
            f"the prompt has {prompt_tokens} tokens and this model's context is {context}, prompt and answer together",
            remedy="shorten the prompt",
            param=param,
        )
    if asked is None:
        return min(room, (usual or room) if isinstance(request, ChatRequest) else COMPLETION_MAX_TOKENS)
    if asked > room:
        raise ContextOverflow(
            f"the prompt has {prompt_tokens} tokens and `{field}` is {shown(asked)}: "
            f"together more than this model's context of {context}",
            remedy=f"give at most {room}, or shorten the prompt",
            param=field,
        )
    return asked


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


def _format(wanted: ResponseFormat | None) -> tuple[bool, str | None]:
    if wanted is None or wanted.type == "text":
        return False, None
    if wanted.type == "json_object":
        return True, None
    if wanted.type != "json_schema":
        raise InvalidRequest(
            f'`response_format.type` is "{wanted.type[:200]}"',
            remedy="give text, json_object or json_schema",
            param="response_format.type",
        )
    if wanted.json_schema is None:
        raise InvalidRequest("`response_format.json_schema` is missing", remedy="add it", param="response_format.json_schema")
    path = "response_format.json_schema.schema"
    schema = bytes(wanted.json_schema.schema).decode()
    try:
        decoded = msgspec.json.decode(schema)
    except RecursionError:
        raise InvalidRequest(f"`{path}` is nested too deeply", remedy="give a flatter JSON Schema", param=path) from None
    if not isinstance(decoded, dict):
        raise InvalidRequest(f"`{path}` is not an object", remedy="give a JSON Schema", param=path)
    return False, schema
