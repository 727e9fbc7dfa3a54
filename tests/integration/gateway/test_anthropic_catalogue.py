"""The models as Anthropic's official client lists them and looks them up, beside OpenAI's at the same place."""

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from antiphon.testing import MockUpstream
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
NAMES = [f"vendor/model-{number}" for number in range(45)]
VERSION = {"anthropic-version": "2023-06-01"}


@pytest.fixture
def running(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream, models=NAMES, more='server: {keys: [{name: alice, key: "sk-alice"}]}')


@pytest.fixture
def client(running: Running) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=running.url, api_key="sk-alice", max_retries=0, timeout=20) as client:
        yield client


def test_pages_are_turned_until_all_have_been_seen(client: anthropic.Anthropic) -> None:
    first = client.models.list()
    assert [model.id for model in first.data] == NAMES[:20]
    assert (first.has_more, first.first_id, first.last_id) == (True, NAMES[0], NAMES[19])
    assert [model.id for model in client.models.list(limit=7)] == NAMES
    assert [model.id for model in client.models.list(limit=1000)] == NAMES


def test_pages_are_turned_back(client: anthropic.Anthropic) -> None:
    last = client.models.list(limit=7, before_id=NAMES[10])
    assert [model.id for model in last.data] == NAMES[3:10]
    assert last.has_more
    before = last.get_next_page()
    assert ([model.id for model in before.data], before.has_more) == (NAMES[:3], False)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"after_id": NAMES[42]}, NAMES[43:]),
        ({"after_id": NAMES[-1]}, []),
        ({"before_id": NAMES[0]}, []),
        ({"lifecycle": ["active"], "limit": 2}, NAMES[:2]),
        ({"lifecycle": ["retired", "deprecated"]}, []),
    ],
)
def test_a_page_at_either_end(client: anthropic.Anthropic, asked: Any, expected: list[str]) -> None:
    page = client.models.list(**asked)
    assert [model.id for model in page.data] == expected
    assert page.first_id == (expected[0] if expected else None)


def test_a_model_is_described(client: anthropic.Anthropic) -> None:
    model = client.models.retrieve(NAMES[3])
    assert (model.id, model.display_name, model.type, model.lifecycle) == (NAMES[3], NAMES[3], "model", "active")
    assert model.created_at.year == 1970
    raw = client.models.with_raw_response.retrieve(NAMES[3]).http_response.json()
    assert raw["created_at"] == "1970-01-01T00:00:00Z"
    assert raw == client.models.list().data[3].to_dict(mode="json") | {"created_at": raw["created_at"]}


def test_errors_come_in_the_dialects_shape(running: Running, client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="nobody") as told:
        client.models.retrieve("nobody")
    body: Any = told.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "not_found_error")
    assert body["request_id"] == told.value.response.headers["x-request-id"]
    for wrong, what in (
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"after_id": "nobody"}, "after_id"),
        ({"after_id": NAMES[0], "before_id": NAMES[1]}, "before_id"),
    ):
        refused = httpx2.get(f"{running.url}/v1/models", params=wrong, headers={**VERSION, "x-api-key": "sk-alice"})
        assert refused.status_code == 400
        assert refused.json()["error"]["type"] == "invalid_request_error"
        assert f"`{what}`" in refused.json()["error"]["message"]
    with (
        anthropic.Anthropic(base_url=running.url, api_key="sk-wrong", max_retries=0) as stranger,
        pytest.raises(anthropic.AuthenticationError) as unknown,
    ):
        stranger.models.list()
    refusal: Any = unknown.value.body
    assert refusal["error"]["type"] == "authentication_error"
    wrong_method = httpx2.post(f"{running.url}/v1/models", headers=VERSION)
    assert (wrong_method.status_code, wrong_method.json()["type"]) == (405, "error")
    nowhere = httpx2.get(f"{running.url}/v1/skills", headers=VERSION)
    assert (nowhere.status_code, nowhere.json()["type"]) == (404, "error")


def test_callers_without_the_header_get_what_openai_tells(running: Running) -> None:
    listed = running.client("sk-alice").models.list()
    assert [model.id for model in listed] == NAMES
    assert running.client("sk-alice").models.retrieve(NAMES[3]).owned_by == "p0"
    body = httpx2.get(f"{running.url}/v1/models/nobody", headers={"authorization": "Bearer sk-alice"}).json()
    assert body["error"]["code"] == "model_not_found"
