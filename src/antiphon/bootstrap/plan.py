"""Which processes a configuration asks for. Nothing is started here."""

import os
import sys
from collections.abc import Mapping

import msgspec

from antiphon.bootstrap.process import engine_name, socket_path
from antiphon.bootstrap.snapshots.file import SnapshotSource
from antiphon.config import LocalModelSettings, Settings
from antiphon.core.errors import SetupError

MALLOC_THRESHOLD = 256 << 20
"""Bytes. Below it glibc neither gives the end of the heap back nor maps a block of its own; both cost a page fault a page later."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

COMPUTE_THREADS = 1
"""An encoder takes milliseconds a text; a second thread spins beside the engines and makes both slower."""


class PlannedProcess(msgspec.Struct, frozen=True):
    """A process that shall run."""

    role: str
    name: str
    command: tuple[str, ...]
    settings: Settings
    needs: tuple[str, ...] = ()
    """Names of the processes that it calls: they are stopped after it."""
    environment: Mapping[str, str] = {}
    """Set unless the operator's environment has the variable already."""
    model: LocalModelSettings | None = None
    model_path: str = ""
    sources: tuple[SnapshotSource, ...] = ()
    """Workers: where their settings and keys lie."""

    def replaces(self, running: "PlannedProcess") -> bool:
        """Whether a process that runs by the plan ``running`` has to make way for this one: a setting of its role differs."""
        return _inputs(self) != _inputs(running)

    def follows(self, running: "PlannedProcess") -> bool:
        """Whether a process that runs by the plan ``running`` need only be told of this one's settings, if it can be told."""
        return _fixed(self) == _fixed(running)


def plan(settings: Settings, paths: Mapping[str, str], run_dir: str, *, cores: int = 0) -> tuple[PlannedProcess, ...]:
    """The processes in the order of their start: control plane, compute host, engines, workers.

    ``paths`` maps the name of each local model to its folder or file; ``cores`` 0 takes this machine's. Raises SetupError where a
    model has no path or ``run_dir`` is too long for the name of a socket.
    """
    cores = cores or os.cpu_count() or 1
    services = [_process("control", "control", settings, threads=1)]
    if settings.embeddings.enabled or settings.guardrails:
        services.append(_process("compute", "compute", settings, threads=min(cores, COMPUTE_THREADS)))
    if coordinated(settings):
        services.append(_process("coordinator", "coordinator", settings, threads=1))
    services += [_engine(model, paths, settings, cores) for model in settings.models]
    needs = tuple(service.name for service in services)
    workers = [
        msgspec.structs.replace(_process("worker", f"worker-{index}", settings, threads=1), needs=needs)
        for index in range(settings.server.workers)
    ]
    for process in (*services, *workers):
        socket_path(run_dir, process.name)
    return (*services, *workers)


def coordinated(settings: Settings) -> bool:
    """Whether there is a coordinator: several workers share what it keeps, and what callers have used must outlive a worker."""
    return settings.server.workers > 1 or bool(settings.limits)


def _inputs(process: PlannedProcess) -> tuple[object, ...]:
    """All that the work of a process depends on."""
    settings = process.settings
    own: tuple[object, ...] = (settings,)
    if process.role == "engine":
        own = (process.model, process.model_path)
    elif process.role == "compute":
        own = (settings.embeddings, settings.guardrails, settings.cache_dir)
    elif process.role == "coordinator":
        own = (settings.data_dir,)
    return (process.role, process.command, process.environment, *own)


def _fixed(process: PlannedProcess) -> tuple[object, ...]:
    """What a process goes by as long as it lives."""
    settings = process.settings
    front = (bool(settings.server.tls_cert), settings.server.proxy_protocol != "none")
    told: tuple[object, ...] = (front, settings.server.event_spill_mb, settings.data_dir, settings.cache_dir)
    if process.role == "control":
        told = (settings.records.url, settings.audit, settings.data_dir)
    return (process.role, process.command, process.environment, *told)


def _engine(model: LocalModelSettings, paths: Mapping[str, str], settings: Settings, cores: int) -> PlannedProcess:
    if not paths.get(model.name):
        raise SetupError(
            f'the files of the model "{model.name}" are not in the cache',
            remedy=f'fetch them with "antiphon models pull {model.name}"',
        )
    process = _process("engine", engine_name(model.name), settings, threads=model.threads or cores)
    return msgspec.structs.replace(process, model=model, model_path=paths[model.name])


def _process(role: str, name: str, settings: Settings, *, threads: int) -> PlannedProcess:
    environment = dict.fromkeys(THREAD_VARIABLES, str(threads))
    if role == "worker":
        environment |= {"MALLOC_TRIM_THRESHOLD_": str(MALLOC_THRESHOLD), "MALLOC_MMAP_THRESHOLD_": str(MALLOC_THRESHOLD)}
    # -P: a file in the operator's working folder must not stand in for a module of the standard library
    command = (sys.executable, "-P", "-m", f"antiphon.bootstrap.{role}")
    return PlannedProcess(role, name, command, settings, environment=environment)
