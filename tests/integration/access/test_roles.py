"""Every endpoint of the administration and every kind of model, for every role, at a real server; and policies of one's own."""

import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import httpx2
import openai
import pytest
from starlette.routing import Route

from antiphon.gateway.admin.app import create_app
from antiphon.governance.roles.functions import ADMINISTER, ENDPOINTS, USE
from antiphon.governance.roles.policies import GRANTS
from antiphon.storage.memory_records import MemoryAuditTrail, MemoryRecordStore
from antiphon.testing import MockUpstream
from tests.acceptance.command_line import CommandLine
from tests.integration.gateway.data_plane import WholeServer, provider

POLICIES = """
  @id("support") permit(principal in Role::"support", action == Action::"chat", resource == Model::"small");
  @id("no-big-for-interns") forbid(principal in Team::"interns", action, resource == Model::"big");
"""
KEYS = [
    *({"name": f"{role}-key", "key": f"key-of-{role}", "roles": [role]} for role in (*GRANTS, "support")),
    {"name": "plain", "key": "key-of-plain"},
    {"name": "intern", "key": "key-of-intern", "team": "interns", "roles": ["admin"]},
    {"name": "small-only", "key": "key-of-small-only", "models": ["small"]},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeServer]:
    folder = tmp_path_factory.mktemp("roles")
    with MockUpstream() as upstream:
        row = json.loads(provider("p0", upstream.url))
        row["models"] = ["small", "big"]
        lines = [
            f"providers: [{json.dumps(row)}]",
            f"data_dir: {folder / 'data'}",
            "aliases: {best: [big, small], fast: small}",
            f"server: {{keys: {json.dumps(KEYS)}}}",
            f"access: {{policies: {json.dumps(POLICIES)}}}",
            "limits: [{scope: everyone, requests: 100000/minute}]",
        ]
        started = WholeServer("\n".join(lines) + "\n", folder, 2)
        yield started
        started.stop()


def get(server: WholeServer, path: str, who: str, method: str = "GET") -> httpx2.Response:
    return httpx2.request(method, f"{server.url}{path}", headers={"authorization": f"Bearer key-of-{who}"}, timeout=20)


def chat(server: WholeServer, who: str, model: str) -> int:
    try:
        server.client(f"key-of-{who}").chat.completions.create(model=model, messages=[{"role": "user", "content": "hi"}])
    except openai.APIStatusError as error:
        return error.status_code
    return 200


def admin_routes() -> list[tuple[str, str]]:
    routes = [route for route in create_app(Mock(), MemoryRecordStore(), MemoryAuditTrail()).routes if isinstance(route, Route)]
    return [
        (method, route.path)
        for route in routes
        if route.path.startswith("/admin")
        for method in sorted((route.methods or set()) - {"HEAD"})
    ]


def test_every_endpoint_of_the_administration_has_a_function() -> None:
    assert {(method, path) for method, path in admin_routes()} <= set(ENDPOINTS)


@pytest.mark.parametrize("role", [*GRANTS, "plain", "support"])
def test_role_matrix(server: WholeServer, role: str) -> None:
    granted = GRANTS.get(role, ())
    for method, path in admin_routes():
        answer = get(server, path, role, method)
        assert (answer.status_code == 403) == (ENDPOINTS[method, path] not in granted), (method, path, answer.text)
        if answer.status_code == 403:
            error = answer.json()["error"]
            assert error["code"] == "permission_denied"
            assert "no policy permits it" in error["message"]
    for method, path in (("GET", "/admin/unknown"), ("POST", "/admin/usage"), ("GET", "/admin")):
        answer = get(server, path, role, method)
        assert (answer.status_code == 403) == (ADMINISTER not in granted), (method, path)
    uses = set(USE) <= set(granted) or role == "plain"
    assert chat(server, role, "small") == (200 if uses or role == "support" else 403)
    assert chat(server, role, "big") == (200 if uses else 403)


def test_what_a_policy_forbids_no_role_and_no_alias_gives_back(server: WholeServer) -> None:
    assert [chat(server, "intern", model) for model in ("small", "fast", "big", "best")] == [200, 200, 403, 403]
    assert [chat(server, "small-only", model) for model in ("small", "fast", "big", "best")] == [200, 200, 403, 403]


def test_a_request_that_names_two_models_is_refused_however_they_are_written(server: WholeServer) -> None:
    for first in ('"model"', '"mod\\u0065l"'):
        body = f'{{{first}: "big", "messages": [{{"role": "user", "content": "model"}}], "model": "small"}}'
        headers = {"authorization": "Bearer key-of-small-only", "content-type": "application/json"}
        answer = httpx2.post(f"{server.url}/v1/chat/completions", content=body.encode(), headers=headers, timeout=20)
        assert answer.status_code == 400, answer.text
        assert "stands there twice" in answer.text


def test_a_path_with_a_slash_too_many_leads_nowhere(server: WholeServer) -> None:
    answer = get(server, "/admin/usage/", "admin")
    assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_a_caller_sees_its_own_models_in_every_dialect(server: WholeServer) -> None:
    def seen(who: str, path: str, field: str = "data", **headers: str) -> set[str]:
        answer = httpx2.get(f"{server.url}{path}", headers={"authorization": f"Bearer key-of-{who}", **headers}, timeout=20)
        return {row.get("id") or row["name"] for row in answer.json()[field]}

    for path, field, headers in (
        ("/v1/models", "data", {}),
        ("/v1/models", "data", {"anthropic-version": "2023-06-01"}),
        ("/api/tags", "models", {}),
    ):
        assert seen("plain", path, field, **headers) == {"small", "big", "best", "fast"}
        assert seen("small-only", path, field, **headers) == {"small", "fast"}
        assert seen("billing", path, field, **headers) == set()
    assert get(server, "/v1/models/big", "small-only").status_code == 404
    assert get(server, "/v1/models/small", "small-only").status_code == 200


def test_a_refused_call_uses_nothing_and_reaches_nobody(server: WholeServer) -> None:
    def used() -> int:
        rows = get(server, "/admin/limits", "admin").json()["data"]
        return int(sum(row["used"] for row in rows))

    before = used()
    assert chat(server, "billing", "small") == 403
    assert used() == before


def test_a_wrong_policy_stops_the_start_with_its_line(tmp_path: Path) -> None:
    policy = 'permit(principal, action == Action::"dance", resource);'
    (tmp_path / "antiphon.yaml").write_text(f"models: []\naccess:\n  default_roles: [develper]\n  policies: '{policy}'\n")
    said = CommandLine(tmp_path).run("config", "check", code=2).err
    assert 'policy 1 of yours: unrecognized action `Action::"dance"`' in said
    assert 'did you mean "developer"?' in said
    assert "antiphon.yaml:4" in said
