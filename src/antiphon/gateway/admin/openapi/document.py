"""Puts the description together: paths by hand, schemas from the structs beside it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon import __version__
from antiphon.core.processes import ServerState
from antiphon.core.schedules import RouteStates
from antiphon.core.usage import DIMENSIONS
from antiphon.gateway.admin.audit import DEFAULT_RECORDS, MAX_RECORDS, AuditList
from antiphon.gateway.admin.calls import DEFAULT_CALLS, MAX_CALLS, CallList
from antiphon.gateway.admin.limits import DEFAULT_LIMITS, MAX_LIMITS, LimitList
from antiphon.gateway.admin.openapi import answers, anthropic, media, ollama, requests, responses, retrieval
from antiphon.gateway.admin.usage import UsageList
from antiphon.gateway.anthropic.models import DEFAULT_LIMIT, MAX_LIMIT, AnthropicModel, AnthropicModels
from antiphon.gateway.ollama import catalogue
from antiphon.gateway.openai.responses import MAX_PAGE, PAGE

Json = dict[str, Any]
"""A part of the document. OpenAPI defines its shape, so no types of ours stand between."""

INFO = """\
One endpoint in front of every language model that a team has, in the dialects of OpenAI, Anthropic and Ollama: point an OpenAI
client at `/v1` of this server, an Anthropic or Ollama client at its root. Cohere's client, at its root too, ranks documents.

Errors have one shape everywhere but in the endpoints of Anthropic, Ollama and Cohere, which have their own. Each answer
to a call carries its request id in the header `x-request-id`. Where the operator has configured keys, send one as
`Authorization: Bearer KEY` or, as Anthropic's clients do, as `x-api-key: KEY`.
"""

MODEL = "smollm2-135m-instruct"

TYPES = (
    requests.ChatCompletionRequest,
    requests.CompletionRequest,
    requests.EmbeddingRequest,
    anthropic.MessagesRequest,
    anthropic.MessageAnswer,
    anthropic.MessageEvent,
    responses.ResponsesRequest,
    responses.ResponseAnswer,
    responses.ResponseEvent,
    responses.ResponseItems,
    responses.ResponseInputTokens,
    responses.ResponseDeleted,
    anthropic.CountTokensRequest,
    anthropic.TokenCount,
    AnthropicModels,
    AnthropicModel,
    retrieval.RerankRequest,
    retrieval.RerankAnswer,
    retrieval.RerankError,
    media.ModerationRequest,
    media.ModerationAnswer,
    media.ImageRequest,
    media.ImageEditForm,
    media.ImageVariationForm,
    media.ImagesAnswer,
    media.MediaEvent,
    media.SpeechRequest,
    media.TranscriptionForm,
    media.TranslationForm,
    media.Transcription,
    ollama.OllamaChatRequest,
    ollama.OllamaGenerateRequest,
    ollama.OllamaEmbedRequest,
    ollama.OllamaEmbeddingsRequest,
    ollama.OllamaShowRequest,
    ollama.OllamaChatAnswer,
    ollama.OllamaGenerateAnswer,
    ollama.OllamaEmbedAnswer,
    ollama.OllamaEmbeddingsAnswer,
    ollama.OllamaError,
    catalogue.OllamaModels,
    catalogue.OllamaRunning,
    catalogue.OllamaShown,
    catalogue.OllamaVersion,
    answers.ChatCompletion,
    answers.ChatCompletionChunk,
    answers.Completion,
    answers.EmbeddingList,
    answers.ModelList,
    answers.ModelObject,
    answers.Health,
    answers.Ready,
    answers.ErrorAnswer,
    RouteStates,
    ServerState,
    CallList,
    LimitList,
    UsageList,
    AuditList,
)

ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("BadRequest", "The request is not valid, or asks for what this model cannot do."),
    401: ("Unauthenticated", "The API key is missing or wrong."),
    403: ("PermissionDenied", "The caller's key may not do this."),
    404: ("NotFound", "There is no such model."),
    413: ("TooLarge", "The request body is too large."),
    415: ("Compressed", "The request body is compressed, and bodies are not decompressed here."),
    429: ("QueueFull", "A limit is reached, or the model's queue is full; `retry-after` says when to try again."),
    500: ("Internal", "Antiphon itself failed; its log has the details under the request id."),
    502: ("Upstream", "Whoever should have answered failed."),
    503: ("Overloaded", "There is no room for this call now, or the process is shutting down."),
    504: ("Silent", "Whoever should have answered was silent for too long."),
}

ADMIN = (401, 403, 503)
LOOK_UP = (401, 404)
CALL = tuple(ERRORS)
KEPT = (400, *LOOK_UP, 503)
OLLAMA = "Ollama"
RANKING = "Rerank"
"""What the names of errors in Ollama's shape begin with."""

DIALECT: Json = {
    "name": "anthropic-version",
    "in": "header",
    "description": "Anthropic's clients send it, and are told of models, pages and errors in the words of their dialect.",
    "schema": {"type": "string"},
    "example": "2023-06-01",
}


def document() -> bytes:
    """The OpenAPI 3.1 document of the public API, as JSON."""
    _, schemas = msgspec.json.schema_components(TYPES, ref_template="#/components/schemas/{name}")
    return msgspec.json.encode(
        {
            "openapi": "3.1.1",
            "info": {
                "title": "Antiphon",
                "version": __version__,
                "summary": "Chat, completions and embeddings from every model behind this server.",
                "description": INFO,
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/", "description": "This server"}],
            "security": [{"key": []}, {}],
            "tags": [
                {"name": "Models", "description": "Calls to models, in the dialects of OpenAI, Anthropic and Ollama."},
                {"name": "Operations", "description": "For those who run the server."},
            ],
            "paths": _model_paths() | _response_paths() | _ollama_paths() | _ranking_paths() | _media_paths() | _operation_paths(),
            "components": {
                "schemas": schemas,
                "responses": {
                    f"{shape}{name}": _error(description, schema)
                    for shape, schema in (("", "ErrorAnswer"), (OLLAMA, "OllamaError"), (RANKING, "RerankError"))
                    for name, description in ERRORS.values()
                },
                "securitySchemes": {
                    "key": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "A key of `server.keys`. Without such keys anyone may call.",
                    }
                },
            },
        }
    )


def _model_paths() -> Json:
    conversation = {"model": MODEL, "messages": [{"role": "user", "content": "Name three colours."}], "max_tokens": 64}
    prompt = {"model": MODEL, "prompt": "The three primary colours are", "max_tokens": 16}
    counted = {name: value for name, value in conversation.items() if name != "max_tokens"}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    pages = [_query("limit", limit, 20), *(_query(name, {"type": "string"}, MODEL) for name in ("after_id", "before_id"))]
    texts = {"model": "usem3", "input": ["good morning", "guten Morgen"]}
    identifier = {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "Name of the model; slashes in it may be written as they are.",
        "schema": {"type": "string"},
        "example": MODEL,
    }
    return {
        "/v1/chat/completions": {
            "post": _call("createChatCompletion", "Answer a conversation", "ChatCompletionRequest", conversation)
            | _answers(_either("ChatCompletion", "ChatCompletionChunk"), CALL)
        },
        "/v1/completions": {
            "post": _call("createCompletion", "Continue a text", "CompletionRequest", prompt)
            | _answers(_either("Completion", "Completion"), CALL)
        },
        "/v1/embeddings": {
            "post": _call("createEmbedding", "Turn texts into vectors", "EmbeddingRequest", texts)
            | _answers(_json("EmbeddingList"), CALL)
        },
        "/v1/messages": {
            "post": _call("createMessage", "Answer a conversation, in Anthropic's dialect", "MessagesRequest", conversation)
            | _answers(_either("MessageAnswer", "MessageEvent"), CALL)
        },
        "/v1/messages/count_tokens": {
            "post": _call("countTokens", "Count the tokens of a conversation", "CountTokensRequest", counted)
            | _answers(_json("TokenCount"), CALL)
        },
        "/v1/models": {
            "get": _look("listModels", "List the models", "Models")
            | {"parameters": [DIALECT, *pages]}
            | _answers(_one_of("ModelList", "AnthropicModels"), (400, 401))
        },
        "/v1/models/{id}": {
            "get": _look("retrieveModel", "Describe a model", "Models")
            | {"parameters": [identifier, DIALECT]}
            | _answers(_one_of("ModelObject", "AnthropicModel"), LOOK_UP)
        },
    }


def _response_paths() -> Json:
    asked = {"model": MODEL, "input": "Name three colours.", "max_output_tokens": 64}
    response = "resp_ap0123456789abcdef0123456789abcdef"
    identifier = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, "example": response}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE}
    order = {"type": "string", "enum": ["asc", "desc"], "default": "desc"}
    item = "msg_ap0123456789abcdef0123456789abcdef_i0"
    pages = [identifier, _query("limit", limit, PAGE), _query("order", order, "asc"), _query("after", {"type": "string"}, item)]
    return {
        "/v1/responses": {
            "post": _call("createResponse", "Answer a conversation, in OpenAI's newer dialect", "ResponsesRequest", asked)
            | _answers(_either("ResponseAnswer", "ResponseEvent"), CALL)
        },
        "/v1/responses/input_tokens": {
            "post": _call("countResponseInput", "Count the tokens of a conversation", "ResponsesRequest", asked)
            | _answers(_json("ResponseInputTokens"), CALL)
        },
        "/v1/responses/{id}": {
            "parameters": [identifier],
            "get": _look("retrieveResponse", "Read a response that was kept", "Models") | _answers(_json("ResponseAnswer"), KEPT),
            "delete": _look("deleteResponse", "Forget a response", "Models") | _answers(_json("ResponseDeleted"), KEPT),
        },
        "/v1/responses/{id}/input_items": {
            "get": _look("listResponseInput", "List what the model was shown for a response", "Models")
            | {"parameters": pages}
            | _answers(_json("ResponseItems"), KEPT)
        },
        "/v1/responses/{id}/cancel": {
            "post": _look("cancelResponse", "Refused: nothing here runs in the background", "Models")
            | {"parameters": [identifier]}
            | _answers(_json("ResponseAnswer"), KEPT)
        },
    }


def _ranking_paths() -> Json:
    documents = {"model": "rerank-v3.5", "query": "the sea", "documents": ["a red rose", "the blue ocean"], "top_n": 1}
    return {
        f"/{version}/rerank": {
            "post": _call(operation, f"Put documents in order, as {whose} clients ask for it", "RerankRequest", documents)
            | _answers(_json("RerankAnswer"), CALL, RANKING)
        }
        for version, operation, whose in (("v1", "rerank", "Jina's"), ("v2", "rerankV2", "Cohere's"))
    }


def _media_paths() -> Json:
    said = {"model": "tts-1", "input": "Good morning.", "voice": "alloy"}
    sound = {"audio/*": {"schema": {"type": "string", "contentMediaType": "audio/mpeg"}}}
    events = {"text/event-stream": {"schema": _ref("MediaEvent")}}
    pictures = _answers(_json("ImagesAnswer") | events, CALL)
    written = _json("Transcription") | {"text/plain": {"schema": {"type": "string"}}}
    return {
        "/v1/moderations": {
            "post": _call("createModeration", "Find what is harmful", "ModerationRequest", {"model": "guard", "input": "Hello."})
            | _answers(_json("ModerationAnswer"), CALL)
        },
        "/v1/images/generations": {
            "post": _call("createImage", "Make a picture", "ImageRequest", {"model": "gpt-image-1", "prompt": "The sea."})
            | pictures
        },
        "/v1/images/edits": {"post": _form("createImageEdit", "Change a picture", "ImageEditForm") | pictures},
        "/v1/images/variations": {
            "post": _form("createImageVariation", "Vary a picture", "ImageVariationForm") | _answers(_json("ImagesAnswer"), CALL)
        },
        "/v1/audio/speech": {"post": _call("createSpeech", "Say a text", "SpeechRequest", said) | _answers(sound | events, CALL)},
        "/v1/audio/transcriptions": {
            "post": _form("createTranscription", "Write down what is said", "TranscriptionForm") | _answers(written | events, CALL)
        },
        "/v1/audio/translations": {
            "post": _form("createTranslation", "Write down in English what is said", "TranslationForm") | _answers(written, CALL)
        },
    }


def _ollama_paths() -> Json:
    conversation = {"model": MODEL, "messages": [{"role": "user", "content": "Name three colours."}], "stream": False}
    prompt = {"model": MODEL, "prompt": "Name three colours.", "options": {"num_predict": 64}}
    texts = {"model": "usem3", "input": ["good morning", "guten Morgen"]}
    text = {"model": "usem3", "prompt": "good morning"}
    lines, call, look_up = "application/x-ndjson", CALL, (*LOOK_UP, 400)
    return {
        "/api/chat": {
            "post": _call("ollamaChat", "Answer a conversation, in Ollama's dialect", "OllamaChatRequest", conversation)
            | _answers(_either("OllamaChatAnswer", "OllamaChatAnswer", lines), call, OLLAMA)
        },
        "/api/generate": {
            "post": _call("ollamaGenerate", "Answer a prompt, in Ollama's dialect", "OllamaGenerateRequest", prompt)
            | _answers(_either("OllamaGenerateAnswer", "OllamaGenerateAnswer", lines), call, OLLAMA)
        },
        "/api/embed": {
            "post": _call("ollamaEmbed", "Turn texts into vectors, in Ollama's dialect", "OllamaEmbedRequest", texts)
            | _answers(_json("OllamaEmbedAnswer"), call, OLLAMA)
        },
        "/api/embeddings": {
            "post": _call("ollamaEmbeddings", "Turn a text into a vector, in Ollama's older way", "OllamaEmbeddingsRequest", text)
            | _answers(_json("OllamaEmbeddingsAnswer"), call, OLLAMA)
        },
        "/api/tags": {
            "get": _look("ollamaTags", "List the models, in Ollama's dialect", "Models")
            | _answers(_json("OllamaModels"), (401,), OLLAMA)
        },
        "/api/ps": {
            "get": _look("ollamaRunning", "List the models that are loaded on this machine", "Models")
            | _answers(_json("OllamaRunning"), (401,), OLLAMA)
        },
        "/api/show": {
            "post": _call("ollamaShow", "Describe a model, in Ollama's dialect", "OllamaShowRequest", {"model": MODEL})
            | _answers(_json("OllamaShown"), look_up, OLLAMA)
        },
        "/api/version": {
            "get": _look("ollamaVersion", "Tell which version of Ollama's API this is", "Models")
            | _answers(_json("OllamaVersion"), (401,), OLLAMA)
        },
    }


def _operation_paths() -> Json:
    ready = _answers(_json("Ready"), ())
    ready["responses"]["503"] = {"description": "Something does not serve yet, or no longer.", "content": _json("Ready")}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_CALLS, "default": DEFAULT_CALLS}
    listed = {"type": "integer", "minimum": 1, "maximum": MAX_LIMITS, "default": DEFAULT_LIMITS}
    audited = {"type": "integer", "minimum": 1, "maximum": MAX_RECORDS, "default": DEFAULT_RECORDS}
    exposition = {"text/plain": {"schema": {"type": "string"}, "example": 'antiphon_up{process="worker-0",role="worker"} 1.0\n'}}
    return {
        "/health": {
            "get": _look("health", "Does this process answer", "Operations") | _answers(_json("Health"), ()) | {"security": []}
        },
        "/ready": {"get": _look("ready", "Does everything serve", "Operations") | ready | {"security": []}},
        "/metrics": {
            "get": _look("metrics", "Metrics in Prometheus' text format", "Operations")
            | _answers(exposition, ())
            | {"security": []}
        },
        "/admin/processes": {
            "get": _look("processes", "State of the server's processes", "Operations") | _answers(_json("ServerState"), ADMIN)
        },
        "/admin/routes": {
            "get": _look("routes", "Queues and replicas of the routes", "Operations") | _answers(_json("RouteStates"), ADMIN)
        },
        "/admin/limits": {
            "get": _look("limits", "What was used of each limit", "Operations")
            | {
                "parameters": [
                    _query("limit", listed, 20),
                    _query("after", {"type": "string"}, "key:ann/requests/sliding/60/0"),
                    _query("scope", {"type": "string"}, "key"),
                    _query("name", {"type": "string"}, "ann"),
                ]
            }
            | _answers(_json("LimitList"), (400, *ADMIN))
        },
        "/admin/usage": {
            "get": _look("usage", "What callers have used and spent", "Operations")
            | {
                "parameters": [
                    _query("by", {"type": "string"}, "team,day"),
                    _query("since", {"type": "string"}, "2026-12-01"),
                    _query("until", {"type": "string"}, "2027-01-01"),
                    _query("format", {"type": "string", "enum": ["json", "csv"], "default": "json"}, "json"),
                    *(_query(dimension, {"type": "string"}, "") for dimension in DIMENSIONS),
                ]
            }
            | _answers(_json("UsageList") | {"text/csv": {"schema": {"type": "string"}}}, (400, *ADMIN))
        },
        "/admin/audit": {
            "get": _look("audit", "The audit trail, latest first", "Operations")
            | {
                "parameters": [
                    _query("limit", audited, 20),
                    _query("after", {"type": "string"}, "3f9c0a62d1b47e58/12"),
                    _query("since", {"type": "string"}, "2026-12-01"),
                    _query("until", {"type": "string"}, "2027-01-01"),
                    _query("key", {"type": "string"}, "ann"),
                    _query("user", {"type": "string"}, "ann"),
                    _query("model", {"type": "string"}, MODEL),
                    _query("status", {"type": "integer"}, 200),
                    _query("id", {"type": "string"}, ""),
                    _query("kind", {"type": "string"}, "call"),
                ]
            }
            | _answers(_json("AuditList"), (400, *ADMIN))
        },
        "/admin/calls": {
            "get": _look("calls", "The last calls, latest first", "Operations")
            | {"parameters": [_query("limit", limit, 20), _query("model", {"type": "string"}, MODEL)]}
            | _answers(_json("CallList"), (400, *ADMIN))
        },
    }


def _call(operation: str, summary: str, schema: str, example: Json) -> Json:
    body = {"required": True, "content": {"application/json": {"schema": _ref(schema), "example": example}}}
    return {"operationId": operation, "summary": summary, "tags": ["Models"], "requestBody": body}


def _form(operation: str, summary: str, schema: str) -> Json:
    body = {"required": True, "content": {"multipart/form-data": {"schema": _ref(schema)}}}
    return {"operationId": operation, "summary": summary, "tags": ["Models"], "requestBody": body}


def _look(operation: str, summary: str, tag: str) -> Json:
    return {"operationId": operation, "summary": summary, "tags": [tag]}


def _query(name: str, schema: Json, example: object) -> Json:
    return {"name": name, "in": "query", "schema": schema, "example": example}


def _answers(content: Json, errors: Sequence[int], shape: str = "") -> Json:
    responses: Json = {"200": {"description": "The answer.", "content": content}}
    for status in sorted(errors):
        responses[str(status)] = {"$ref": f"#/components/responses/{shape}{ERRORS[status][0]}"}
    return {"responses": responses}


def _json(schema: str) -> Json:
    return {"application/json": {"schema": _ref(schema)}}


def _one_of(*schemas: str) -> Json:
    return {"application/json": {"schema": {"oneOf": [_ref(schema) for schema in schemas]}}}


def _either(whole: str, piece: str, stream: str = "text/event-stream") -> Json:
    return _json(whole) | {stream: {"schema": _ref(piece)}}


def _error(description: str, schema: str) -> Json:
    return {"description": description, "content": _json(schema)}


def _ref(schema: str) -> Json:
    return {"$ref": f"#/components/schemas/{schema}"}
