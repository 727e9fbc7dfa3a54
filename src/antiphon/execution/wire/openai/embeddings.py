"""OpenAI's embeddings endpoint: requests and answers, read into the form that belongs to no vendor and written from it.

What OpenAI does not know but its imitators do is taken too, in the words of any vendor: what vectors are for (``input_type``,
``task``, ``task_type``), and what becomes of a text that is too long (``truncate``, ``truncation``).
"""

from typing import Annotated, Any, Final

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import Usage
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import InboundEmbedding, OutboundEmbedding
from antiphon.execution.wire.embedding import (
    EmbeddingAbilities,
    EmbeddingAnswer,
    EmbeddingRequest,
    Task,
    Truncation,
    dimensions_of,
    in_order,
    texts_of,
    vector_of,
)
from antiphon.execution.wire.openai.fields import UsageFields
from antiphon.execution.wire.openai.passthrough import usage_from
from antiphon.execution.wire.openai.request_reader import DIALECT
from antiphon.execution.wire.reading import NULL, Count
from antiphon.execution.wire.said_errors import refused, said
from antiphon.execution.wire.wrong_values import one_of

ENDPOINT: Final = "OpenAI's embeddings endpoint"
HINTS: Final = frozenset({"metadata"})
"""Fields that change no vector."""
TASKS: Final[dict[str, Task]] = {
    "query": "query",
    "search_query": "query",
    "retrieval.query": "query",
    "retrieval_query": "query",
    "document": "document",
    "passage": "document",
    "search_document": "document",
    "retrieval.passage": "document",
    "retrieval_document": "document",
    "similarity": "similarity",
    "text-matching": "similarity",
    "semantic_similarity": "similarity",
    "classification": "classification",
    "clustering": "clustering",
    "separation": "clustering",
    "question_answering": "question",
    "fact_verification": "fact_check",
    "code.query": "code_query",
    "code_retrieval_query": "code_query",
    "code.passage": "code_document",
}
"""What vectors are for, in the vendors' words, small letters."""
_TASK_FIELDS: Final = ("input_type", "task", "task_type")
_TRUNCATIONS: Final[dict[str | bool, Truncation]] = {False: "none", True: "end", "none": "none", "start": "start", "end": "end"}


class _Request(msgspec.Struct):
    model: str
    input: str | list[str | Count | list[Count]]
    dimensions: Annotated[int, msgspec.Meta(ge=1, lt=2**53)] | None = None
    encoding_format: str | None = None
    input_type: str | None = None
    task: str | None = None
    task_type: str | None = None
    truncate: bool | str | None = None
    truncation: bool | None = None
    user: str | None = None


class _Embedding(msgspec.Struct):
    index: int | None = None
    embedding: msgspec.Raw = NULL


class _Answer(msgspec.Struct):
    data: list[_Embedding] | None = None
    usage: msgspec.Raw = NULL
    error: Any = None


_decode = msgspec.json.Decoder(_Request).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_answer = msgspec.json.Decoder(_Answer).decode
_decode_usage = msgspec.json.Decoder(UsageFields | None).decode


def decode_request(body: bytes) -> EmbeddingRequest:
    """Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode, body)
    fields = _decode_fields(body)
    others = {name: raw for name, raw in fields.items() if name not in _Request.__struct_fields__ and raw != NULL}
    if read.encoding_format not in (None, "float", "base64"):
        raise one_of("encoding_format", read.encoding_format, "float, base64")
    inputs, single = _inputs(read.input)
    return EmbeddingRequest(
        dialect=DIALECT,
        model=read.model,
        inputs=inputs,
        single=single,
        dimensions=read.dimensions,
        encoding="base64" if read.encoding_format == "base64" else "float",
        task=_task(read),
        truncate=_truncation(read),
        user=read.user or "",
        extra={name: raw for name, raw in others.items() if name not in HINTS},
        hints={name: raw for name, raw in others.items() if name in HINTS},
    )


def _inputs(given: str | list[str | int | list[int]]) -> tuple[tuple[str | tuple[int, ...], ...], bool]:
    """The inputs, and whether there is one by itself."""
    if isinstance(given, str):
        return (given,), True
    if not given:
        raise InvalidRequest("`input` is an empty list", remedy="put at least one text into it", param="input")
    numbers = [number for number in given if isinstance(number, int)]
    if len(numbers) == len(given):
        return (tuple(numbers),), True
    inputs: list[str | tuple[int, ...]] = []
    for place, one in enumerate(given):
        if isinstance(one, int) or one == []:
            problem = "is a number among texts" if isinstance(one, int) else "is an empty list"
            remedy = "give texts, or a list of numbers for each"
            raise InvalidRequest(f"`input[{place}]` {problem}", remedy=remedy, param=f"input[{place}]")
        inputs.append(one if isinstance(one, str) else tuple(one))
    return tuple(inputs), False


def _task(read: _Request) -> Task | None:
    found: Task | None = None
    for name in _TASK_FIELDS:
        word = getattr(read, name)
        if word is None:
            continue
        task = TASKS.get(word.lower())
        if task is None:
            raise one_of(name, word, ", ".join(TASKS))
        if found not in (None, task):
            raise InvalidRequest(f"`{name}` says otherwise than another field", remedy="leave one of them out", param=name)
        found = task
    return found


def _truncation(read: _Request) -> Truncation | None:
    given = read.truncate if read.truncate is not None else read.truncation
    if given is None:
        return None
    word = given.lower() if isinstance(given, str) else given
    if word not in _TRUNCATIONS:
        raise one_of("truncate", str(given), "true, false, none, start, end")
    return _TRUNCATIONS[word]


def write_answer(answer: EmbeddingAnswer, request: EmbeddingRequest, _identity: str) -> bytes:
    """The body. OpenAI's always tells a usage: where the server told none, it is 0. Raises UpstreamBroken as vectors do."""
    packs = request.encoding == "base64"
    items = b",".join(
        b'{"object":"embedding","index":%d,"embedding":%b}'
        % (index, b'"%b"' % vector.as_packed().encode() if packs else bytes(vector.as_numbers()))
        for index, vector in enumerate(answer.vectors)
    )
    usage = answer.usage or Usage()
    return b'{"object":"list","data":[%b],"model":%b,"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (
        items,
        reading.encode(request.model),
        usage.prompt_tokens,
        usage.total_tokens,
    )


def encode_request(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``/v1/embeddings``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.task is not None:
        raise unsupported("input_type", "this model embeds all texts alike")
    if request.truncate not in (None, "none"):
        raise unsupported("truncate", "this model's server refuses what is too long", "leave it out, and send shorter texts")
    inputs = request.inputs if abilities.token_ids else texts_of(request)
    told = {
        "model": request.model,
        "input": inputs[0] if request.single else inputs,
        "dimensions": dimensions_of(request, abilities),
        "encoding_format": "base64" if request.encoding == "base64" else None,
        "user": request.user or None,
        **own_fields(request, DIALECT),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_answer(body: bytes, request: EmbeddingRequest) -> EmbeddingAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.error is not None:
        raise refused(said(answer.error, 502))
    vectors = in_order(((item.index, vector_of(item.embedding)) for item in answer.data or ()), request)
    return EmbeddingAnswer(vectors, usage_of(answer.usage))


def usage_of(raw: msgspec.Raw) -> Usage | None:
    """What was used, as OpenAI and its imitators tell it; some tell the total alone. What is no count is not told on."""
    try:
        found = _decode_usage(raw)
    except msgspec.ValidationError:
        return None
    usage = usage_from(found)
    if usage is not None and not usage.prompt_tokens:
        return msgspec.structs.replace(usage, prompt_tokens=max(0, usage.total_tokens - usage.completion_tokens))
    return usage


INBOUND_EMBEDDING: Final = InboundEmbedding(decode_request, write_answer)
OUTBOUND_EMBEDDING: Final = OutboundEmbedding("embeddings", encode_request, read_answer)
