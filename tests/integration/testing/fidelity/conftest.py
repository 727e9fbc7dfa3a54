"""A right gateway: our own data plane in front of the scripted servers, played through once for all tests of this folder."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from antiphon.testing.fidelity import CASES, Gateway, Stage, Suite
from antiphon.testing.fidelity.gateways import known_gateway
from antiphon.testing.fidelity.outcome import Miss, Outcome
from tests.integration.gateway.data_plane import DataPlaneProcess


class Played(msgspec.Struct, frozen=True):
    """What came of a case."""

    outcome: Outcome
    fault: str = ""
    """Why there is no outcome to look at."""


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with Stage() as running:
        yield running


@pytest.fixture(scope="session")
def right(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a right gateway."""
    folder: Path = tmp_path_factory.mktemp("right")
    process = DataPlaneProcess(known_gateway("antiphon").file(stage.port), folder, local="")
    yield process.url
    process.stop()


@pytest.fixture(scope="session")
def played(stage: Stage, right: str) -> dict[str, Played]:
    """What came of every case."""
    suite = Suite(Gateway(right), stage)

    async def play_all() -> dict[str, Played]:
        places = asyncio.Semaphore(8)

        async def play(case):
            async with places:
                try:
                    return case.id, Played(await suite.outcome(case))
                except Miss as why:
                    return case.id, Played(Outcome(), str(why))

        together = await asyncio.gather(*(play(case) for case in CASES if not case.alone))
        return dict([*together, *[await play(case) for case in CASES if case.alone]])

    return asyncio.run(play_all())
