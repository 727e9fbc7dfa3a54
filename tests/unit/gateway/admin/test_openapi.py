import json
import re
from pathlib import Path

import pytest
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from antiphon.execution.engine_host import requests as engine
from antiphon.gateway import readiness
from antiphon.gateway.admin.openapi import answers, requests
from antiphon.gateway.admin.openapi.document import document
from antiphon.gateway.openai import models

REFERENCE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "api.md"
DESCRIPTION = json.loads(document())
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
    if method != "parameters"
}


def is_valid(schema: str, value: object) -> bool:
    described = OAS31Validator({"$ref": f"#/components/schemas/{schema}", "components": DESCRIPTION["components"]})
    return bool(described.is_valid(value))


def test_it_is_a_valid_openapi_document():
    assert list(OpenAPIV31SpecValidator(DESCRIPTION).iter_errors()) == []


def test_it_describes_every_public_endpoint():
    assert set(OPERATIONS) == {
        "POST /v1/chat/completions",
        "POST /v1/completions",
        "POST /v1/embeddings",
        "POST /v1/messages",
        "POST /v1/responses",
        "POST /v1/responses/input_tokens",
        "GET /v1/responses/{id}",
        "DELETE /v1/responses/{id}",
        "GET /v1/responses/{id}/input_items",
        "POST /v1/responses/{id}/cancel",
        "POST /v1/messages/count_tokens",
        "POST /v1/rerank",
        "POST /v2/rerank",
        "POST /v1/moderations",
        "POST /v1/images/generations",
        "POST /v1/images/edits",
        "POST /v1/images/variations",
        "POST /v1/audio/speech",
        "POST /v1/audio/transcriptions",
        "POST /v1/audio/translations",
        "POST /api/chat",
        "POST /api/generate",
        "POST /api/embed",
        "POST /api/embeddings",
        "POST /api/show",
        "GET /api/tags",
        "GET /api/ps",
        "GET /api/version",
        "GET /v1/models",
        "GET /v1/models/{id}",
        "GET /health",
        "GET /ready",
        "GET /metrics",
        "GET /admin/processes",
        "GET /admin/routes",
        "GET /admin/limits",
        "GET /admin/usage",
        "GET /admin/audit",
        "GET /admin/calls",
    }


def test_the_reference_page_lists_the_same_endpoints():
    listed = set(re.findall(r"`((?:GET|POST|DELETE) /[^`]*)`", REFERENCE.read_text(encoding="utf-8")))
    assert set(OPERATIONS) <= listed


def test_every_example_of_a_request_is_valid_against_its_schema():
    checked = 0
    for operation in OPERATIONS.values():
        if content := operation.get("requestBody", {}).get("content", {}).get("application/json"):
            assert is_valid(content["schema"]["$ref"].rpartition("/")[2], content["example"])
            checked += 1
    assert checked == 17


@pytest.mark.parametrize(
    ("path", "streamed"),
    [
        ("/v1/chat/completions", "text/event-stream"),
        ("/v1/completions", "text/event-stream"),
        ("/v1/messages", "text/event-stream"),
        ("/v1/responses", "text/event-stream"),
        ("/api/chat", "application/x-ndjson"),
        ("/api/generate", "application/x-ndjson"),
    ],
)
def test_calls_for_text_may_be_streamed(path, streamed):
    assert set(DESCRIPTION["paths"][path]["post"]["responses"]["200"]["content"]) == {"application/json", streamed}


@pytest.mark.parametrize(
    ("described", "real"),
    [
        (requests.ChatCompletionRequest, engine.ChatRequest),
        (requests.CompletionRequest, engine.CompletionRequest),
        (answers.ModelObject, models.ModelObject),
        (answers.ModelList, models.ModelList),
        (answers.Health, readiness.Health),
        (answers.Ready, readiness.Ready),
    ],
)
def test_every_field_of_ours_is_described(described, real):
    assert set(real.__struct_fields__) <= set(described.__struct_fields__)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            "ChatCompletionRequest",
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "x": 1},
        ),
        ("CompletionRequest", {"model": "m", "prompt": ["a", "b"], "stop": "x", "logprobs": 0}),
        ("CompletionRequest", {"model": "m", "prompt": [1, 2, 3], "stop": ["x"]}),
        ("EmbeddingRequest", {"model": "m", "input": "a", "encoding_format": "base64"}),
        ("EmbeddingList", {"object": "list", "model": "m", "data": [], "usage": {"prompt_tokens": 1, "total_tokens": 1}}),
        ("RerankRequest", {"model": "m", "query": "q", "documents": ["a", {"text": "b", "id": 1}], "top_n": 1}),
        ("RerankAnswer", {"id": "r", "results": [{"index": 0, "relevance_score": 0.5, "document": {"text": "a"}}]}),
        ("TranscriptionForm", {"model": "m", "file": "...", "response_format": "srt", "stream": True}),
        ("ResponsesRequest", {"model": "m", "input": [{"role": "user", "content": "hi"}], "tool_choice": {"type": "function"}}),
        ("ResponseEvent", {"type": "response.created", "sequence_number": 0, "response": {}}),
        ("ResponseItems", {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}),
        ("OllamaChatRequest", {"model": "m", "messages": [{"role": "user", "content": "hi"}], "format": {}, "think": "low"}),
        ("OllamaChatAnswer", {"model": "m", "created_at": "", "message": {"role": "assistant", "content": ""}, "done": False}),
        ("OllamaGenerateRequest", {"model": "m", "prompt": "hi", "options": {"num_ctx": 1}, "keep_alive": "5m"}),
        ("OllamaError", {"error": "no", "request_id": "r"}),
        ("ErrorAnswer", {"error": {"message": "x", "type": "server_error", "param": None, "code": None}, "request_id": "r"}),
    ],
)
def test_what_clients_and_servers_send_is_valid(schema, value):
    assert is_valid(schema, value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "m"},
        {"model": "m", "messages": []},
        {"model": "m", "messages": [{"role": "robot", "content": "hi"}]},
        {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 3},
    ],
)
def test_wrong_requests_are_not(wrong):
    assert not is_valid("ChatCompletionRequest", wrong)
