"""Python client of an Antiphon server: ``Client``, ``AsyncClient``, and the types that they take and give.

It shares nothing with the server but the HTTP contract. Only what is listed here is public.
"""

from antiphon_client.admin import CallList, CallRecord, CallUsage, Health, ProcessError, ProcessState, Readiness, ServerState
from antiphon_client.chat.answers import (
    ChatChoice,
    ChatChunkChoice,
    ChatCompletion,
    ChatCompletionChunk,
    ChatDelta,
    ChatLogprobs,
    ChatMessage,
    FunctionCall,
    ParsedCompletion,
    ToolCall,
)
from antiphon_client.chat.formats import function_tool, response_format
from antiphon_client.chat.params import ChatParams, FunctionTool, MessageParam
from antiphon_client.chat.streams import AsyncChatStream, ChatStream
from antiphon_client.client import AsyncClient, Client
from antiphon_client.completions import AsyncCompletionStream, Completion, CompletionChoice, CompletionParams, CompletionStream
from antiphon_client.embeddings import Embedding, EmbeddingList, EmbeddingParams
from antiphon_client.errors import (
    AntiphonClientError,
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    CannotConnectError,
    ConfigurationError,
    ConflictError,
    DeadlineExceededError,
    InternalServerError,
    InvalidResponseError,
    NotFoundError,
    ParseError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitError,
    StreamError,
    UnprocessableEntityError,
)
from antiphon_client.models import Model, ModelList
from antiphon_client.network import Network
from antiphon_client.options import CallOptions, ClientOptions
from antiphon_client.rerank import RankedDocument, Ranking, RerankParams
from antiphon_client.responses import (
    AsyncResponseStream,
    DeletedResponse,
    OutputItem,
    Response,
    ResponseEvent,
    ResponseParams,
    ResponseStream,
    ResponseUsage,
)
from antiphon_client.sampling import JsonSchemaFormat
from antiphon_client.transport.ask import ResponseInfo
from antiphon_client.usage import Usage

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIStatusError",
    "APITimeoutError",
    "AntiphonClientError",
    "AsyncChatStream",
    "AsyncClient",
    "AsyncCompletionStream",
    "AsyncResponseStream",
    "AuthenticationError",
    "BadRequestError",
    "CallList",
    "CallOptions",
    "CallRecord",
    "CallUsage",
    "CannotConnectError",
    "ChatChoice",
    "ChatChunkChoice",
    "ChatCompletion",
    "ChatCompletionChunk",
    "ChatDelta",
    "ChatLogprobs",
    "ChatMessage",
    "ChatParams",
    "ChatStream",
    "Client",
    "ClientOptions",
    "Completion",
    "CompletionChoice",
    "CompletionParams",
    "CompletionStream",
    "ConfigurationError",
    "ConflictError",
    "DeadlineExceededError",
    "DeletedResponse",
    "Embedding",
    "EmbeddingList",
    "EmbeddingParams",
    "FunctionCall",
    "FunctionTool",
    "Health",
    "InternalServerError",
    "InvalidResponseError",
    "JsonSchemaFormat",
    "MessageParam",
    "Model",
    "ModelList",
    "Network",
    "NotFoundError",
    "OutputItem",
    "ParseError",
    "ParsedCompletion",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "ProcessError",
    "ProcessState",
    "RankedDocument",
    "Ranking",
    "RateLimitError",
    "Readiness",
    "RerankParams",
    "Response",
    "ResponseEvent",
    "ResponseInfo",
    "ResponseParams",
    "ResponseStream",
    "ResponseUsage",
    "ServerState",
    "StreamError",
    "ToolCall",
    "UnprocessableEntityError",
    "Usage",
    "function_tool",
    "response_format",
]
