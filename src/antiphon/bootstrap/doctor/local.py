"""The models of this machine: their files, the engines that run them, and the memory that they take."""

from collections.abc import Iterator, Mapping

from antiphon.bootstrap.compute import BUILT_IN
from antiphon.bootstrap.doctor import probe
from antiphon.bootstrap.doctor.ports import running
from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.bootstrap.engine import engine_options
from antiphon.bootstrap.models import broken_models, local_models, overview, store, verify
from antiphon.config import LocalModelSettings, Settings
from antiphon.core.errors import AntiphonError, ModelSourceError
from antiphon.execution.engines import EngineOptions
from antiphon.execution.engines._memory import available_memory
from antiphon.registry import default

PROCESS_BYTES = 64 << 20
"""Memory of a worker, of the control plane and of the supervisor, each, roughly."""
ENCODER_BYTES = 256 << 20
"""Memory of the compute host with the built-in encoder, roughly."""
_MIB = 1 << 20


def models(subject: Subject) -> Iterator[Finding]:
    """Whether the files of each model are here and still have their SHA-256."""
    settings = subject.settings
    known = {model.name: model for model in local_models(settings)}
    for row in overview(settings):
        if row.name not in known:
            continue
        if row.state == "ready":
            yield _verified(subject, row.name)
        elif row.state == "broken":
            stored = next((model for model in store(settings).list() if model.name == row.name), None)
            why = stored.damage() if stored else "its manifest cannot be read"
            yield Finding("models", "error", f"{row.name} is broken: {why}", f'run "antiphon models pull --force {row.name}"')
        else:
            yield _absent(settings, known[row.name])
    for entry in broken_models(settings):
        what = f'the added model "{entry.name}" cannot be served: {entry.reason}'
        yield Finding("models", "error", what, f'run "antiphon models rm {entry.name}"')
    if not known:
        yield Finding("models", "ok", "none on this machine")


def engines(subject: Subject) -> Iterator[Finding]:
    """Whether the library of each engine that is wanted, and that of the encoder, can be loaded here; and the memory they take."""
    needs: dict[str, int] = {}
    for name, wanted in _engines(subject).items():
        report = probe.run(probe.Question("engine", name, tuple(wanted)))
        yield _library(name, report)
        needs |= {model.model: need for model, need in zip(wanted, report.memory, strict=False)}
        for model, loadable in zip(wanted, report.supports, strict=False):
            if not loadable:
                what = f'engine "{name}" cannot load the files of {model.model}'
                yield Finding("engines", "error", what, "check the source of the model, or its engine")
    if subject.settings.embeddings.enabled:
        yield _library(f"encoder {BUILT_IN}", probe.run(probe.Question("encoder", BUILT_IN)))
    yield _memory(subject, needs)


def _memory(subject: Subject, needs: Mapping[str, int]) -> Finding:
    """The memory that is available against what the models and processes take."""
    settings = subject.settings
    free = available_memory()
    if free is None:
        return Finding("memory", "warning", "this system does not tell how much memory is available", "see to it yourself")
    if running(settings.server):
        return Finding("memory", "ok", f"{free // _MIB} MiB are available beside the running server")
    unknown = [model.name for model in local_models(settings) if model.name not in needs]
    processes = PROCESS_BYTES * (settings.server.workers + 2) + (ENCODER_BYTES if settings.embeddings.enabled else 0)
    needed = sum(needs.values()) + processes
    told = ", ".join([*(f"{name} {need // _MIB} MiB" for name, need in needs.items()), f"the processes {processes // _MIB} MiB"])
    what = f"{free // _MIB} MiB are available, about {needed // _MIB} MiB are needed: {told}"
    if unknown:
        what += f"; not counted: {', '.join(unknown)}"
    if needed > free:
        return Finding("memory", "error", what, "lower kv_cache_mb, take smaller models or fewer, or free some memory")
    return Finding("memory", "ok", what)


def _verified(subject: Subject, name: str) -> Finding:
    try:
        stored = verify(subject.settings, name, subject.progress)
    except AntiphonError as error:
        return Finding("models", "error", error.message, error.remedy)
    return Finding("models", "ok", f"{name}: {stored.size / 1e6:.1f} MB, SHA-256 {stored.sha256[:12]}... as recorded")


def _absent(settings: Settings, model: LocalModelSettings) -> Finding:
    try:
        store(settings).check(model.name, model.source, model.sha256)
    except ModelSourceError as error:
        return Finding("models", "error", f"{model.name}: {error.message}", error.remedy)
    size = f" ({default.SIZE / 1e6:.0f} MB)" if model.sha256 == default.SHA256 else ""
    what = f'{model.name} is not fetched yet{size}; "antiphon serve" does that first'
    return Finding("models", "warning", what, f'run "antiphon models pull {model.name}" to have it ahead of time')


def _engines(subject: Subject) -> dict[str, list[EngineOptions]]:
    """Each engine that is wanted, with those of its models whose files are here."""
    settings = subject.settings
    paths = {row.name: row.path for row in overview(settings) if row.path}
    wanted: dict[str, list[EngineOptions]] = {}
    for model in local_models(settings):
        of_engine = wanted.setdefault(model.engine, [])
        if path := paths.get(model.name):
            of_engine.append(engine_options(model, path, settings.cache_dir))
    return wanted


def _library(name: str, report: probe.Report) -> Finding:
    if report.error:
        return Finding("engines", "error", f"{name} cannot be used: {report.error}", report.remedy)
    return Finding("engines", "ok", f"{name}: {report.versions or 'can be loaded'}")
