"""Each cell of the matrix, from a caller's bytes to a server and back."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing import Cut, MockUpstream
from antiphon.testing.matrix.abilities import ABILITIES
from antiphon.testing.matrix.callers import CALLERS, Caller
from antiphon.testing.matrix.cells import ENGINE, Cell, cells, is_preset, player_of
from antiphon.testing.matrix.page import page
from antiphon.testing.matrix.telling import Answer, Ask, Failure, ToolCall, Turn
from tests.integration.matrix.conftest import PROTOCOLS

Servers = Mapping[str, MockUpstream]

CELLS = cells()
TRIED = [cell for cell in CELLS if cell.fate in ("passed", "translated")]
STREAMED = [cell for cell in TRIED if isinstance(cell.ability.answer, Answer) and not is_preset(cell.protocol)]


@pytest.fixture(scope="module")
def gateway(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=30) as client:
        yield client


def ask(gateway: httpx2.Client, cell: Cell, *, stream: bool, **more: Any) -> httpx2.Response:
    caller: Caller = CALLERS.load(cell.dialect)
    body = caller.request(cell.ability.ask, stream=stream)
    assert body is not None
    return gateway.post(ENDPOINTS[caller.endpoint].path, json={**body, "model": cell.protocol, **more})


@pytest.mark.parametrize("cell", [cell for cell in TRIED if not cell.ability.cut], ids=str)
def test_in_one_piece(cell: Cell, gateway: httpx2.Client, servers: Servers) -> None:
    caller, player, answer = CALLERS.load(cell.dialect), player_of(cell.protocol), cell.ability.answer
    upstream = servers[cell.protocol]
    if isinstance(answer, Failure):
        upstream.script(*player.failure(answer))
    else:  # some servers answer in streams alone, and are asked for them
        upstream.script(lambda request: (player.stream if request.json.get("stream") else player.whole)(answer) or ())
    response = ask(gateway, cell, stream=False)
    heard = caller.heard(response.status_code, response.content)
    if isinstance(answer, Failure):
        assert heard.status in (answer.status, 529 if answer.status == 503 else answer.status)
        assert answer.message in heard.message
    else:
        assert fair(heard, cell) == fair(answer, cell)
    understood(player.asked(upstream.requests[-1]), cell)


@pytest.mark.parametrize("cell", STREAMED, ids=str)
def test_in_a_stream(cell: Cell, gateway: httpx2.Client, servers: Servers) -> None:
    caller, player, answer = CALLERS.load(cell.dialect), player_of(cell.protocol), cell.ability.answer
    upstream = servers[cell.protocol]
    assert isinstance(answer, Answer)
    steps = player.stream(answer) or ()
    upstream.script(*([*steps[:-2], Cut()] if cell.ability.cut else steps))
    response = ask(gateway, cell, stream=True)
    assert response.status_code == 200, response.text
    heard = caller.heard_stream(response.content)
    if cell.ability.cut:
        assert isinstance(heard, Failure)
        return
    assert fair(heard, cell) == fair(answer, cell)
    understood(player.asked(upstream.requests[-1]), cell)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.fate == "refused"], ids=str)
def test_what_is_refused_is_refused_before_anything_is_sent(cell: Cell, gateway: httpx2.Client, servers: Servers) -> None:
    upstream = servers[cell.protocol]
    before = len(upstream.requests)
    response = ask(gateway, cell, stream=False)
    heard = CALLERS.load(cell.dialect).heard(response.status_code, response.content)
    assert isinstance(heard, Failure)
    assert heard.status == 400
    assert heard.message.startswith(cell.refusal.replace("mock-model", cell.protocol))  # who else can it is told behind
    assert len(upstream.requests) == before


def fair(answer: Answer | Failure, cell: Cell) -> dict[str, Any]:
    """An answer without what a dialect may change: ids of calls, pieces of a text, counts that a protocol does not tell apart."""
    assert isinstance(answer, Answer), answer
    told = {name: value for name, value in msgspec.structs.asdict(answer).items() if name not in CALLERS.load(cell.dialect).untold}
    told["texts"] = "".join(answer.texts)
    told["calls"] = [(call.name, call.arguments) for call in answer.calls]
    return told


def understood(asked: Ask, cell: Cell) -> None:
    """The server must have understood what the ability is about, and nothing else beside the defaults of its protocol."""
    meant = cell.ability.ask
    shown_none = meant.tool_choice == "none" and not asked.tools  # another way to keep a model from calling any
    for name in cell.ability.seen:
        if shown_none and name in ("tools", "tool_choice"):
            continue
        if name == "turns":
            assert plain(asked.turns) == plain(meant.turns)
        else:
            assert getattr(asked, name) == getattr(meant, name), name
    if "turns" not in cell.ability.seen:
        assert [turn.text for turn in asked.turns] == [turn.text for turn in meant.turns]
    for name in (
        *(() if shown_none else ("tools",)),
        "schema",
        "stop",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "presence_penalty",
        "frequency_penalty",
    ):
        assert getattr(asked, name) == getattr(meant, name), name


def plain(turns: tuple[Turn, ...]) -> list[Turn]:
    """Turns without the ids of calls, which a protocol may not have."""

    def bare(call: ToolCall) -> ToolCall:
        return ToolCall(call.name, call.arguments)

    return [
        msgspec.structs.replace(
            turn, calls=tuple(map(bare, turn.calls)), result_of=bare(turn.result_of) if turn.result_of else None
        )
        for turn in turns
    ]


def test_every_protocol_and_every_dialect_is_tried() -> None:
    assert {cell.protocol for cell in CELLS} == {*PROTOCOLS, ENGINE}
    assert {cell.dialect for cell in CELLS} == set(CALLERS.names())
    assert {cell.ability.name for cell in CELLS} == {ability.name for ability in ABILITIES}


def test_the_page_is_up_to_date() -> None:
    shown = (Path(__file__).parents[3] / "docs" / "reference" / "translation.md").read_text()
    assert shown == page() + "\n"
