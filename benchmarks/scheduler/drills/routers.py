"""The routers that are put through the drills: how each is found and started in front of the replicas, and with which policies."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks.gateway.peers import Launch, Peer, Site
from benchmarks.processes import Process, Trouble, free_port
from benchmarks.scheduler.drills.prompts import MODEL

READY = 60.0
"""Seconds that a router gets until it answers."""
KEY = "sk-drill"
GREEDY_KEY = "sk-greedy"
"""Key of a second tenant. Routers that know no tenants pass it on."""
EVICTION = 60
"""Seconds of the replicas' time between two looks at the size of a router's tree of prompts."""
SHIPPED_BACKLOG = 0.25
"""Seconds of prompts that a route of Antiphon's sends ahead, where its file does not say."""


class Fleet(msgspec.Struct, frozen=True):
    """What stands behind a router."""

    ports: tuple[int, ...]
    speed: float = 1.0
    """Seconds of the replicas' time in a real one: what a router measures in seconds it is told by this clock."""
    max_running: int = 256
    """Calls that each replica runs at once."""
    route: str = ""
    """More settings of Antiphon's route, as YAML in braces has them."""

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(f"http://127.0.0.1:{port}" for port in self.ports)


class Router(msgspec.Struct, frozen=True):
    """A router, and what it can be told to go by."""

    name: str
    package: str
    """What ``pip install`` takes; empty for Antiphon, which is here."""
    policies: tuple[str, ...]
    drilled: tuple[str, ...]
    """Those of them that are put through the faults: the one that knows caches, and those that know load."""
    command: Callable[[str, str, Fleet, Site], Launch]
    """From program, policy, fleet and place."""
    settles: float = 1.5
    """Seconds after the first answer in which it finds all replicas."""
    polls: float = 3.0
    """Seconds in which it has asked all replicas for their load."""

    def find(self, places: dict[str, str], folder: str) -> str:
        """Path of its program, in the place that was given for it, in its folder below ``folder``, or on the PATH."""
        if not self.package:
            return sys.executable
        peer = Peer(self.name, self.package, lambda program, _: Launch((program,)))
        place = places.get(self.name) or (str(Path(folder) / self.name) if folder else "")
        return peer.find(place)

    def how_to_install(self, folder: str) -> str:
        """The command that brings it."""
        place = f"{folder or '~/peers'}/{self.name}"
        return f"python3 -m venv {place} && {place}/bin/pip install {self.package}"

    def version(self, program: str) -> str:
        """As its package tells."""
        if not self.package:
            return "this tree"
        found = sorted(Path(program).parent.parent.glob(f"lib/python*/site-packages/{self.package.replace('-', '_')}-*.dist-info"))
        return found[-1].name.removesuffix(".dist-info").rpartition("-")[2] if found else "unknown"


class Standing:
    """A router that runs."""

    def __init__(self, router: Router, program: str, policy: str, fleet: Fleet, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        site = Site(free_port(), 0, folder)
        launch = router.command(program, policy, fleet, site)
        self.name = f"{router.name} {policy}"
        self.port = site.port
        self.headers = launch.headers
        self._settles = router.settles
        self.process = Process(self.name, launch.command, folder / "log", launch.environment)

    def wait(self, answers: Callable[["Standing"], bool]) -> None:
        """Until it answers. Raises Trouble where it does not, and has stopped it then."""
        try:
            self.process.wait_until(lambda: answers(self), READY)
            time.sleep(self._settles)
        except Trouble:
            self.process.stop()
            raise

    def stop(self) -> None:
        """End it."""
        self.process.stop()


_KEYED = (f"authorization: Bearer {KEY}",)


def _antiphon(program: str, policy: str, fleet: Fleet, site: Site) -> Launch:
    rows = "".join(
        f"  - {{name: r{index}, protocol: vllm, url: {url}/v1, models: [{MODEL}]}}\n" for index, url in enumerate(fleet.urls)
    )
    waits = ", ".join(f"p{tier}: {{max_wait: 3600}}" for tier in range(3))
    backlog = SHIPPED_BACKLOG / fleet.speed
    route = fleet.route or f"max_calls: {fleet.max_running}, {waits}, shed_from: 1, backlog: {backlog:g}"
    config = site.write(
        "antiphon.yaml",
        f"""\
server:
  port: {site.port}
  workers: 1
  keys: [{{name: drill, key: {KEY}}}, {{name: greedy, key: {GREEDY_KEY}}}]
models: []
embeddings: {{enabled: false}}
providers:
{rows}
routes:
  - {{name: {MODEL}, policy: {policy}, {route}}}
data_dir: {site.folder}/data
cache_dir: {site.folder}/cache
""",
    )
    return Launch((program, "-m", "antiphon", "serve", "--config", config), headers=_KEYED)


def _rust(program: str, policy: str, fleet: Fleet, site: Site, *more: str, start: Sequence[str] = ()) -> Launch:
    name, *settings = policy.split()
    command = (
        program,
        *start,
        *("--worker-urls", *fleet.urls),
        *("--host", "127.0.0.1", "--port", str(site.port), "--prometheus-port", str(free_port())),
        *("--policy", name, *settings, "--worker-startup-check-interval", "1"),
        *("--eviction-interval-secs", str(max(1, round(EVICTION / fleet.speed)))),
        *("--log-level", "error"),
        *more,
    )
    # their tokenizers would be fetched from the network; none is needed, and drills reach nothing but loopback
    return Launch(command, {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}, headers=_KEYED)


def _sglang(program: str, policy: str, fleet: Fleet, site: Site) -> Launch:
    return _rust(program, policy, fleet, site, start=("launch",))


def _vllm(program: str, policy: str, fleet: Fleet, site: Site) -> Launch:
    return _rust(program, policy, fleet, site)


def _smg(program: str, policy: str, fleet: Fleet, site: Site) -> Launch:
    return _rust(program, policy, fleet, site, "--load-monitor-interval", "1", start=("launch",))


OURS = Router("antiphon", "", ("balanced", "round-robin"), ("balanced",), _antiphon, settles=0.0, polls=1.5)

ROUTERS = (
    OURS,
    Router(
        "sglang-router", "sglang-router", ("cache_aware", "power_of_two", "round_robin"), ("cache_aware", "power_of_two"), _sglang
    ),
    Router("vllm-router", "vllm-router", ("cache_aware", "power_of_two", "round_robin"), ("cache_aware",), _vllm),
    Router(
        "smg",
        "smg",
        ("cache_aware", "power_of_two", "least_load", "round_robin"),
        ("cache_aware", "least_load"),
        _smg,
    ),
)
"""Policies that need a session's name, which recorded traffic does not have, are left out: they send all calls to one replica."""
