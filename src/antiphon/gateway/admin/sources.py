"""What the control plane asks of the rest of the server."""

from typing import Protocol

from antiphon.core.ledger import AccountStandings
from antiphon.core.ports import EngineStats
from antiphon.core.processes import ServerState
from antiphon.core.schedules import RouteStates
from antiphon.governance.limits import Limits
from antiphon.observability.metrics_snapshot import MetricsSnapshot


class EngineReport(EngineStats, frozen=True, kw_only=True):
    """An engine host's answer to ``GET /stats``."""

    model: str = ""


class ControlSources(Protocol):
    """The ports of the control plane. Every method raises an AntiphonError where there is no answer."""

    def server(self) -> ServerState:
        """The state of the processes, as the supervisor last wrote it."""

    async def worker_stats(self, process: str) -> MetricsSnapshot:
        """What the worker of that name counted."""

    async def route_states(self, process: str) -> RouteStates:
        """How the routes are doing that the worker or the coordinator of that name schedules."""

    async def accounts(self, process: str) -> AccountStandings:
        """How the accounts stand that the coordinator of that name keeps."""

    def limits(self) -> Limits:
        """The limits of the settings that are in force."""

    async def engine_stats(self, process: str) -> EngineReport:
        """The load of the engine host of that name."""
