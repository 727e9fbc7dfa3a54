import asyncio
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, sync_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from antiphon.bootstrap.control import Server, configure
from antiphon.core.errors import InternalError
from antiphon.core.processes import ServerState
from antiphon.gateway.admin.app import create_app
from antiphon.gateway.admin.sources import EngineReport
from antiphon.observability.metrics_snapshot import MetricsSnapshot
from antiphon.storage.memory_records import MemoryAuditTrail, MemoryRecordStore

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = 60.0


class NoSources:
    """A server without processes."""

    def server(self) -> ServerState:
        raise InternalError

    async def worker_stats(self, process: str) -> MetricsSnapshot:
        raise InternalError

    async def engine_stats(self, process: str) -> EngineReport:
        raise InternalError


async def models(_request: Request) -> Response:
    return JSONResponse(
        {"object": "list", "data": [{"id": "a-model<b>", "owned_by": "someone", "kind": "chat", "created": 0, "object": "model"}]}
    )


async def ready(_request: Request) -> Response:
    return JSONResponse({"status": "ready", "parts": {}})


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The control plane on a free loopback port, with stand-ins for the two paths of the data plane that the pages ask."""
    control = create_app(NoSources(), MemoryRecordStore(), MemoryAuditTrail())
    app = Starlette(routes=[Route("/v1/models", models), Route("/ready", ready), Mount("/", control)])
    started = threading.Event()
    server = Server(configure(app, grace=1.0), started.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    assert started.wait(PATIENCE)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(PATIENCE)


@pytest.fixture(scope="module")
def page(need) -> Iterator[Page]:
    chromium = need.program("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        yield page
        browser.close()


@pytest.fixture
def heard(page, address) -> Iterator[list[str]]:
    """What the page complained of, and where it went that is not this server."""
    complaints: list[str] = []

    def on_console(message) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def on_error(error) -> None:
        complaints.append(str(error))

    def on_request(request) -> None:
        if not request.url.startswith((address, "data:")):
            complaints.append(f"goes to {request.url}")

    handlers = {"console": on_console, "pageerror": on_error, "request": on_request}
    for event, handler in handlers.items():
        page.on(event, handler)
    yield complaints
    for event, handler in handlers.items():
        page.remove_listener(event, handler)


def test_the_documentation_shows_every_endpoint_and_loads_nothing_from_elsewhere(page, address, heard):
    page.goto(f"{address}/docs")
    page.wait_for_selector("#operations-Operations-processes")
    shown = [element.inner_text().replace("\u200b", "") for element in page.query_selector_all(".opblock-summary-path")]
    assert {"/v1/chat/completions", "/v1/embeddings", "/v1/models/{id}", "/metrics"} <= set(shown)
    page.click("#operations-Models-createChatCompletion .opblock-summary")
    assert "Name three colours." in page.input_value("#operations-Models-createChatCompletion .body-param textarea")
    assert heard == []


def test_an_endpoint_can_be_tried_out(page, address, heard):
    page.goto(f"{address}/docs")
    page.click("#operations-Models-listModels .opblock-summary")
    page.click("#operations-Models-listModels button.execute")
    page.wait_for_selector("#operations-Models-listModels .live-responses-table")
    assert "a-model<b>" in page.inner_text("#operations-Models-listModels .live-responses-table")
    assert heard == []


def test_the_first_page_tells_state_models_and_how_to_begin(page, address, heard):
    page.goto(address)
    page.wait_for_selector("#state.good")
    page.wait_for_function("document.querySelector('#models code')?.textContent === 'a-model<b>'")
    assert "someone" in page.inner_text("#models")
    assert f'base_url="{address}/v1"' in page.inner_text("#example")
    assert 'model="a-model<b>"' in page.inner_text("#example")
    page.click("text=Documentation")
    page.wait_for_selector(".swagger-ui .info")
    assert heard == []
