import asyncio
import json
import re
from collections import Counter

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from antiphon import __version__
from antiphon.core.errors import InternalError, UpstreamUnreachable
from antiphon.core.events import CallFinished, EventBundle
from antiphon.core.ledger import AccountStanding, AccountStandings, Limit, Window
from antiphon.core.processes import ProcessState, ServerState
from antiphon.core.schedules import RouteState, RouteStates
from antiphon.core.types import Usage
from antiphon.gateway.admin.app import create_app
from antiphon.gateway.admin.page import Page
from antiphon.gateway.admin.sources import EngineReport
from antiphon.governance.limits import Limits, Rule
from antiphon.observability.metrics_snapshot import MetricsSnapshot
from antiphon.storage.memory_records import MemoryAuditTrail, MemoryRecordStore

PROCESSES = (
    ProcessState("control", "control", 1, "ready", 1.0, pid=11),
    ProcessState("compute", "compute", 1, "loading", 1.0, pid=12),
    ProcessState("engine-small", "engine", 1, "ready", 1.0, pid=13, restarts=3, model="small"),
    ProcessState("worker-0", "worker", 1, "ready", 1.0, pid=14),
    ProcessState("worker-1", "worker", 1, "ready", 1.0, pid=15),
)


class FakeSources:
    """Answers from its tables; a process that is in neither cannot be reached, one in ``hanging`` never answers."""

    def __init__(self) -> None:
        self.view: ServerState | Exception = ServerState(1, 1, "127.0.0.1", 8080, 1.0, serving=True, processes=PROCESSES)
        self.workers = {"worker-0": MetricsSnapshot("a", in_flight=2), "worker-1": MetricsSnapshot("b", in_flight=3)}
        self.engines = {"engine-small": EngineReport(running=4, waiting=0, kv_cache_usage=0.5, generated_tokens=10)}
        self.routes = {"worker-0": RouteStates((RouteState("m", 3, 900, ()),))}
        self.coordinators: dict[str, AccountStandings] = {}
        self.rules = Limits([])
        self.hanging: set[str] = set()
        self.asked: Counter[str] = Counter()

    def server(self) -> ServerState:
        if isinstance(self.view, Exception):
            raise self.view
        return self.view

    async def worker_stats(self, process: str) -> MetricsSnapshot:
        return await self._answer(process, self.workers)

    async def route_states(self, process: str) -> RouteStates:
        return await self._answer(process, self.routes)

    async def accounts(self, process: str) -> AccountStandings:
        return await self._answer(process, self.coordinators)

    def limits(self) -> Limits:
        return self.rules

    async def engine_stats(self, process: str) -> EngineReport:
        return await self._answer(process, self.engines)

    async def _answer(self, process: str, answers: dict):
        self.asked[process] += 1
        while process in self.hanging:
            await asyncio.sleep(0.001)
        if process not in answers:
            raise UpstreamUnreachable
        return answers[process]


CALL = CallFinished("id", "chat/completions", "model", "p/model", "me", 200, "", False, 1.0, 0.5, 0.0, Usage(), 1)


@pytest.fixture
def sources() -> FakeSources:
    return FakeSources()


@pytest.fixture
def client(sources):
    with TestClient(
        create_app(sources, MemoryRecordStore(), MemoryAuditTrail(), patience=0.05), raise_server_exceptions=False
    ) as client:
        yield client


def samples(client) -> dict[tuple[str, str], float]:
    """Value of each sample by its name and the process that it is about."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {(sample.name, sample.labels.get("process", "")): sample.value for family in families for sample in family.samples}


class TestMetrics:
    def test_all_workers_and_engines_are_in_it(self, client):
        found = samples(client)
        assert found["antiphon_requests_in_flight", ""] == 5
        assert found["antiphon_engine_running", "engine-small"] == 4
        assert found["antiphon_process_restarts_total", "engine-small"] == 3

    def test_routes_are_in_it_as_far_as_whoever_schedules_answers(self, client, sources):
        assert 'antiphon_route_waiting{route="m"} 3.0' in client.get("/metrics").text
        sources.hanging = {"worker-0"}
        page = client.get("/metrics")
        assert page.status_code == 200
        assert "antiphon_route_waiting{" not in page.text

    def test_it_has_the_content_type_of_the_text_format(self, client):
        answer = client.get("/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"

    def test_an_engine_that_does_not_say_its_model_goes_by_what_the_supervisor_says(self, client):
        assert 'antiphon_engine_running{model="small",process="engine-small"} 4.0' in client.get("/metrics").text

    @pytest.mark.parametrize("way", ["dead", "hanging"])
    def test_a_process_that_does_not_answer_is_down_and_the_others_are_shown(self, client, sources, way):
        if way == "dead":
            del sources.workers["worker-1"]
            del sources.engines["engine-small"]
        else:
            sources.hanging = {"worker-1", "engine-small"}
        found = samples(client)
        up = {process: value for (name, process), value in found.items() if name == "antiphon_up"}
        assert up == {"control": 1, "compute": 0, "engine-small": int(way == "hanging"), "worker-0": 1, "worker-1": 0}
        assert found["antiphon_requests_in_flight", ""] == 2
        assert ("antiphon_engine_running", "engine-small") not in found

    def test_an_engine_in_a_long_step_is_shown_with_its_last_figures_and_their_age(self, client, sources):
        assert samples(client)["antiphon_engine_report_age_seconds", "engine-small"] < 1
        sources.hanging = {"engine-small"}
        found = samples(client)
        assert found["antiphon_engine_running", "engine-small"] == 4
        assert found["antiphon_engine_report_age_seconds", "engine-small"] > 0
        assert found["antiphon_up", "engine-small"] == 1
        again = samples(client)
        assert (
            again["antiphon_engine_report_age_seconds", "engine-small"]
            > found["antiphon_engine_report_age_seconds", "engine-small"]
        )

    def test_a_question_stays_open_until_the_step_is_over(self, client, sources):
        sources.hanging = {"engine-small"}
        for _ in range(3):
            assert ("antiphon_engine_running", "engine-small") not in samples(client)
        assert sources.asked["engine-small"] == 1
        sources.hanging = set()
        assert samples(client)["antiphon_engine_running", "engine-small"] == 4

    @pytest.mark.parametrize("change", [{"pid": 99, "restarts": 4}, {"state": "waiting", "pid": 0}])
    def test_nothing_is_said_of_an_engine_that_has_ended(self, client, sources, change):
        samples(client)
        sources.hanging = {"engine-small"}
        changed = tuple(
            msgspec.structs.replace(process, **change) if process.role == "engine" else process for process in PROCESSES
        )
        sources.view = msgspec.structs.replace(sources.view, processes=changed)
        found = samples(client)
        assert ("antiphon_engine_running", "engine-small") not in found
        assert found["antiphon_up", "engine-small"] == int("state" not in change)

    def test_an_engine_that_cannot_be_reached_is_down(self, client, sources):
        samples(client)
        sources.engines.clear()
        found = samples(client)
        assert ("antiphon_engine_running", "engine-small") not in found
        assert found["antiphon_up", "engine-small"] == 0

    def test_without_a_supervisor_there_are_no_processes(self, client, sources):
        sources.view = InternalError("no state")
        assert not [name for name, _ in samples(client) if name == "antiphon_up"]


class TestProcesses:
    def test_it_shows_the_state_that_the_supervisor_wrote(self, client):
        answer = client.get("/admin/processes").json()
        assert answer["serving"] is True
        assert [process["name"] for process in answer["processes"]] == [process.name for process in PROCESSES]

    def test_a_state_that_cannot_be_read_is_an_error_with_its_reason(self, client, sources):
        sources.view = InternalError("the state cannot be read", remedy="start it anew")
        answer = client.get("/admin/processes")
        assert answer.status_code == 500
        assert answer.json()["error"]["message"] == "the state cannot be read; start it anew"

    def test_health(self, client):
        assert client.get("/health").json() == {"status": "ok", "version": __version__}


class TestErrors:
    def test_an_unknown_path(self, client):
        answer = client.get("/nothing", headers={"x-request-id": "req_7"})
        assert answer.status_code == 404
        assert answer.json() == {
            "error": {
                "message": 'there is no endpoint "/nothing"; GET /docs lists the endpoints',
                "type": "invalid_request_error",
                "param": None,
                "code": "unknown_url",
                "remedy": "GET /docs lists the endpoints",
            },
            "request_id": "req_7",
        }
        assert answer.headers["x-request-id"] == "req_7"

    def test_a_wrong_method(self, client):
        answer = client.post("/metrics")
        assert answer.status_code == 405
        assert answer.json()["error"]["code"] == "method_not_allowed"
        assert "GET" in answer.headers["allow"]

    def test_a_bug_tells_nothing_but_a_request_id(self, client, sources):
        sources.view = ValueError("secret detail")
        answer = client.get("/admin/processes")
        assert answer.status_code == 500
        assert answer.json()["error"]["code"] == "internal_error"
        assert answer.json()["request_id"] == answer.headers["x-request-id"]
        assert "secret" not in answer.text

    @pytest.mark.parametrize(
        "path", ["/docs/assets/nothing.js", "/docs/assets/..%2f__init__.py", "/docs/assets/%2e%2e/flask_swagger_ui.py"]
    )
    def test_only_the_files_of_the_documentation_are_served(self, client, path):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "unknown_url"


class TestPages:
    @pytest.mark.parametrize("path", ["/", "/docs"])
    def test_a_page_may_load_from_this_server_only(self, client, path):
        answer = client.get(path)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "{{" not in answer.text
        assert __version__ in answer.text

    @pytest.mark.parametrize("path", ["/", "/docs"])
    def test_what_a_page_refers_to_is_served_or_belongs_to_the_data_plane(self, client, path):
        links = set(re.findall(r'(?:href|src)="([^"]+)"', client.get(path).text))
        assert links
        for link in links - {"/v1/models", "/ready"}:
            if not link.startswith("data:"):
                assert client.get(link).status_code == 200, link

    def test_files_of_the_documentation_can_be_cached(self, client):
        first = client.get("/docs/assets/swagger-ui.css")
        again = client.get("/docs/assets/swagger-ui.css", headers={"if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code) == (200, 304)

    def test_every_answer_forbids_guessing_its_type(self, client):
        for path in ("/", "/docs", "/metrics", "/nothing", "/docs/assets/swagger-ui-bundle.js"):
            assert client.get(path).headers["x-content-type-options"] == "nosniff"

    def test_values_are_escaped(self):
        assert "<script>x" not in Page("docs.html", {"version": "<script>x"})._text

    def test_the_description_is_json(self, client):
        answer = client.get("/openapi.json")
        assert answer.headers["content-type"] == "application/json"
        assert json.loads(answer.text)["openapi"].startswith("3.1")


class TestRoutes:
    def test_the_worker_tells_them_where_it_is_alone(self, client):
        (route,) = client.get("/admin/routes").json()["routes"]
        assert (route["name"], route["waiting"]) == ("m", 3)

    def test_the_coordinator_tells_them_where_there_is_one(self, client, sources):
        coordinator = msgspec.structs.replace(PROCESSES[0], name="coordinator", role="coordinator")
        sources.view = msgspec.structs.replace(sources.view, processes=(*PROCESSES, coordinator))
        sources.routes["coordinator"] = RouteStates()
        assert client.get("/admin/routes").json() == {"routes": []}


class TestCalls:
    def arrive(self, client, number, *ids, instance="worker"):
        events = tuple(msgspec.structs.replace(CALL, id=identity, model=f"model-{identity}") for identity in ids)
        body = msgspec.msgpack.encode(EventBundle(instance, number, events))
        return client.post("/internal/events", content=body).status_code

    def listed(self, client, query=""):
        return [row["id"] for row in client.get(f"/admin/calls{query}").json()["data"]]

    def test_events_that_arrive_are_listed_latest_first(self, client):
        assert self.listed(client) == []
        assert self.arrive(client, 1, "a", "b") == 204
        assert self.arrive(client, 2, "c") == 204
        assert self.listed(client) == ["c", "b", "a"]
        assert self.listed(client, "?limit=2") == ["c", "b"]
        assert self.listed(client, "?model=model-a") == ["a"]

    def test_what_arrives_twice_is_recorded_once(self, client):
        for _ in range(3):
            assert self.arrive(client, 1, "a") == 204
        assert self.arrive(client, 1, "b", instance="another") == 204
        assert self.listed(client) == ["b", "a"]

    def test_what_cannot_be_read_is_taken_and_dropped(self, client):
        for body in (b"", b"\xc1", b"no bundle", msgspec.msgpack.encode({"instance": 1})):
            assert client.post("/internal/events", content=body).status_code == 204
        assert self.listed(client) == []

    @pytest.mark.parametrize("limit", ["0", "1001", "-1", "x", "", "9" * 5000])
    def test_a_limit_out_of_range_is_refused_by_name(self, client, limit):
        answer = client.get(f"/admin/calls?limit={limit}")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "limit")


def test_limits_are_told_page_by_page_with_what_is_left(sources, client):
    assert client.get("/admin/limits").json() == {"data": [], "has_more": False, "object": "list"}
    sources.view = msgspec.structs.replace(
        sources.view, processes=(*PROCESSES, ProcessState("coordinator", "coordinator", 1, "ready", 1.0))
    )
    minute, day = Window("sliding", 60), Window("calendar", 86400)
    sources.coordinators["coordinator"] = AccountStandings(
        (
            AccountStanding(3, 2, 4, account=f"key:ann/requests/{minute.code}", window=minute.code),
            AccountStanding(9, 0, 0, account=f"key:b/c/tokens/{day.code}", window=day.code, ends=86400.0),
            AccountStanding(1, 0, 0, account="of somebody else", window=day.code),
            AccountStanding(1, 0, 0, account=f"team:red/money/{day.code}", window=day.code),
        )
    )
    sources.rules = Limits([Rule("key", "*", "requests", Limit(10, minute)), Rule("key", "b/c", "tokens", Limit(5, day))])

    def rows(query: str = "") -> list[tuple]:
        page = client.get(f"/admin/limits{query}").json()["data"]
        return [(row["scope"], row["name"], row["measure"], row["limit"], row["left"], row["resets_at"]) for row in page]

    ann, slash = ("key", "ann", "requests", 10, 5, None), ("key", "b/c", "tokens", 5, 0, 86400.0)
    assert rows() == [ann, slash, ("team", "red", "money", None, None, None)]
    assert rows("?scope=key&name=b/c") == [slash]
    first = client.get("/admin/limits?limit=1").json()
    assert (first["has_more"], len(first["data"])) == (True, 1)
    assert rows(f"?limit=1&after={first['data'][0]['id']}") == [slash]
    for wrong in ("0", "1001", "x"):
        assert client.get(f"/admin/limits?limit={wrong}").status_code == 400
    assert client.get("/admin/limits?scope=nope").status_code == 400
    del sources.coordinators["coordinator"]
    away = client.get("/admin/limits")
    assert (away.status_code, away.json()["error"]["code"]) == (503, "limits_unavailable")
