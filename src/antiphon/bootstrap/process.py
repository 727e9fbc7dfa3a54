"""The contract between the supervisor and its child processes.

A child is ``python -m antiphon.bootstrap.<role>``. Its standard input carries one line of JSON, the ``ProcessSpec``, and then
stays open as a lifeline: end of file means that the supervisor has died. Whoever says so when it is ready is told of new settings
there too, one ``Update`` per line, and of other public sockets, one ``Share`` per line, and answers each. It tells its state over
a pipe whose number the spec names, one ``Status`` per line. SIGTERM asks it to finish what it has begun and to exit with 0. Logs go
to standard error.

Secrets travel only over standard input: never on the command line, where other users could read them, nor in the environment, which
``child_environment`` frees of them.
"""

import asyncio
import contextlib
import ctypes
import errno
import hashlib
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec
import uvloop

from antiphon.bootstrap.lifeline import EXIT_ORPHANED, Lifeline, read_line
from antiphon.bootstrap.shares import Share, decode_share
from antiphon.bootstrap.snapshots.file import Snapshot, SnapshotSource, read, read_first
from antiphon.config import LocalModelSettings, Settings, decode_hook, decode_settings, encode_hook, encode_settings
from antiphon.core.errors import AntiphonError, ConfigError, InternalError, NoMemory, NoSpace, SetupError

MAX_STATUS_BYTES = 4096
"""POSIX's PIPE_BUF on Linux: a write of at most this many bytes never mixes with another thread's."""

MAX_SOCKET_PATH = 103
"""Longest path of a Unix socket, bytes, that every platform takes (Linux 107, macOS 103)."""

MAX_SLUG = 40

PR_SET_PDEATHSIG = 1

LOG_FORMAT = "%(asctime)s %(levelname)s {name}: %(message)s"

log = logging.getLogger(__name__)


class ProcessSpec(msgspec.Struct, frozen=True):
    """All that a child is told when it starts."""

    role: str
    """``worker``, ``control``, ``coordinator``, ``engine`` or ``compute``."""
    name: str
    """Unique among the children, and the stem of its socket's name."""
    epoch: int
    """Rises by one with every accepted reload of the settings."""
    run_dir: str
    """Folder of the processes' Unix sockets, readable by this user only."""
    settings: Settings
    """Not sent where ``sources`` say where they lie."""
    status_fd: int
    listen_fds: tuple[int, ...] = ()
    """Workers: public sockets, bound; the supervisor owns them, and these are its numbers, by which ``Share`` names them."""
    model: LocalModelSettings | None = None
    """Engines: the model to load."""
    model_path: str = ""
    """Engines: folder or file of the model in the cache."""
    sources: tuple[SnapshotSource, ...] = ()
    """Workers: where their settings and keys lie, in the order of preference."""
    snapshot: Snapshot | None = None
    """Workers: what was read there. It is not sent."""

    def loaded(self) -> "ProcessSpec":
        """The same, with what lies where ``sources`` say. Raises SetupError where none of them can be used."""
        if not self.sources:
            return self
        snapshot = read_first(self.sources)
        return msgspec.structs.replace(self, epoch=snapshot.epoch, settings=snapshot.settings, snapshot=snapshot)


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a child tells the supervisor of itself."""

    state: Literal["loading", "ready", "failed", "updated", "refused"]
    """``updated`` and ``refused`` answer an ``Update`` or a ``Share``."""
    detail: str = ""
    """Loading: what is being done."""
    code: str = ""
    message: str = ""
    remedy: str = ""
    setup: bool = False
    """Failed: trying again is of no use before the operator has mended something."""
    takes_updates: bool = False
    """Ready: new settings need no new process."""
    epoch: int = 0
    """Ready, updated or refused: of which settings."""
    snapshot: str = ""
    """Ready or updated: SHA-256 of the snapshot that is gone by, in hexadecimal digits."""
    share: int = 0
    """Updated or refused: which share of the public sockets; 0 where it was about settings."""


class Update(msgspec.Struct, frozen=True):
    """New settings for a running child. It goes over to them wholly or not at all."""

    epoch: int
    settings: Settings
    """Not sent where ``sources`` say where they lie."""
    sources: tuple[SnapshotSource, ...] = ()
    snapshot: Snapshot | None = None
    """What was read there. It is not sent."""

    def loaded(self) -> "Update":
        """The same, with what lies at the first of ``sources``; no other will do. Raises SetupError where it cannot be used."""
        if not self.sources:
            return self
        snapshot = read(self.sources[0])
        return msgspec.structs.replace(self, settings=snapshot.settings, snapshot=snapshot)


class _UpdateOnTheWire(msgspec.Struct, frozen=True):
    epoch: int
    settings: msgspec.Raw
    sources: tuple[SnapshotSource, ...]


class _SpecOnTheWire(msgspec.Struct, frozen=True):
    role: str
    name: str
    epoch: int
    run_dir: str
    settings: msgspec.Raw
    status_fd: int
    listen_fds: tuple[int, ...]
    model: LocalModelSettings | None
    model_path: str
    sources: tuple[SnapshotSource, ...]


def encode_spec(spec: ProcessSpec) -> bytes:
    """The spec as one line of JSON, secrets in clear: only ever written to a child's standard input."""
    return (
        msgspec.json.encode(
            _SpecOnTheWire(
                role=spec.role,
                name=spec.name,
                epoch=spec.epoch,
                run_dir=spec.run_dir,
                settings=_raw(spec),
                status_fd=spec.status_fd,
                listen_fds=spec.listen_fds,
                model=spec.model,
                model_path=spec.model_path,
                sources=spec.sources,
            ),
            enc_hook=encode_hook,
        )
        + b"\n"
    )


def decode_spec(line: bytes) -> ProcessSpec:
    """The reverse of ``encode_spec``. Raises InternalError where the line is not a spec; the message never quotes it."""
    try:
        wire = msgspec.json.decode(line, type=_SpecOnTheWire, dec_hook=decode_hook)
        settings = _cooked(wire.settings)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InternalError(f"the process specification on standard input is not valid ({type(error).__name__})") from None
    return ProcessSpec(
        role=wire.role,
        name=wire.name,
        epoch=wire.epoch,
        run_dir=wire.run_dir,
        settings=settings,
        status_fd=wire.status_fd,
        listen_fds=wire.listen_fds,
        model=wire.model,
        model_path=wire.model_path,
        sources=wire.sources,
    )


def encode_update(update: Update) -> bytes:
    """The update as one line of JSON, secrets in clear: only ever written to a child's standard input."""
    return msgspec.json.encode(_UpdateOnTheWire(update.epoch, _raw(update), update.sources), enc_hook=encode_hook) + b"\n"


def decode_update(line: bytes) -> Update:
    """The reverse of ``encode_update``. Raises InternalError where the line is none; the message never quotes it."""
    try:
        wire = msgspec.json.decode(line, type=_UpdateOnTheWire, dec_hook=decode_hook)
        return Update(wire.epoch, _cooked(wire.settings), wire.sources)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InternalError(f"the new settings on standard input are not valid ({type(error).__name__})") from None


def _raw(orders: ProcessSpec | Update) -> msgspec.Raw:
    return msgspec.Raw(b"null" if orders.sources else encode_settings(orders.settings))


def _cooked(settings: msgspec.Raw) -> Settings:
    return Settings() if bytes(settings) == b"null" else decode_settings(bytes(settings))


def socket_path(run_dir: str, name: str) -> str:
    """Path of a process's Unix socket. Raises SetupError where the operating system would refuse its length."""
    path = f"{run_dir}/{name}.sock"
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise SetupError(
            f"the socket path {path} is longer than {MAX_SOCKET_PATH} bytes",
            remedy="set TMPDIR to a folder with a short name, such as /tmp",
        )
    return path


def engine_name(model: str) -> str:
    """Name of the process that runs a model: fit for a file name, short, and different for different models."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", model.lower())[:MAX_SLUG]
    if slug != model:
        slug += "-" + hashlib.sha256(model.encode()).hexdigest()[:8]
    return f"engine-{slug}"


class Child:
    """What the main function of a role is given: its orders, and a way to tell how it is doing.

    ``stopping`` is set once the process has been asked to end. ``report`` takes what is told; tests may pass their own.
    """

    def __init__(self, spec: ProcessSpec, stopping: asyncio.Event, report: Callable[[Status], None] | None = None) -> None:
        self.spec = spec
        self.stopping = stopping
        self._report = report or _pipe_writer(spec.status_fd)
        self._take: Callable[[Update], None] | None = None
        self._hold: Callable[[Mapping[int, int | None]], Awaitable[None]] | None = None

    def loading(self, detail: str) -> None:
        """Tell what is being done before the process is ready. May be called from any thread."""
        self._report(Status("loading", detail=detail[:500]))

    def ready(
        self,
        take: Callable[[Update], None] | None = None,
        hold: Callable[[Mapping[int, int | None]], Awaitable[None]] | None = None,
    ) -> None:
        """Tell that the process does its work from now on.

        With ``take`` it will be told of new settings: ``take`` is called with them, and what it raises keeps the old ones. With
        ``hold`` it may be given other public sockets: all that it shall have, by their numbers, with a descriptor for those that
        are new to it.
        """
        self._take = take
        self._hold = hold
        snapshot = self.spec.snapshot
        epoch, digest = (snapshot.epoch, snapshot.sha256) if snapshot is not None else (0, "")
        self._report(Status("ready", takes_updates=take is not None, epoch=epoch, snapshot=digest))

    def prepare(self, update: Update) -> Callable[[], None]:
        """Read what lies on the disk, on the calling thread; gives back what goes over to it on the event loop."""
        try:
            return partial(self.update, update.loaded())
        except (AntiphonError, OSError, MemoryError) as error:
            return partial(self._refuse, update.epoch, error)

    def update(self, update: Update) -> None:
        """Go over to new settings, and tell how that went. Call it on the event loop."""
        try:
            if self._take is None:
                raise InternalError(f"{self.spec.name} takes no new settings")
            self._take(update)
        except Exception as exception:  # the border of the process: whatever it is, the old settings go on and the supervisor hears
            self._refuse(update.epoch, exception)
            return
        digest = update.snapshot.sha256 if update.snapshot is not None else ""
        self._report(Status("updated", epoch=update.epoch, snapshot=digest))

    def _refuse(self, epoch: int, exception: Exception) -> None:
        error = _as_antiphon_error(exception)
        if isinstance(error, InternalError):
            log.error("the new settings could not be used", exc_info=exception)
        self._report(_status_of("refused", error, epoch))

    async def share(self, share: Share, descriptors: Sequence[int]) -> None:
        """Accept on these sockets, and tell how that went. ``descriptors`` are those that have just arrived."""
        try:
            if self._hold is None:
                raise InternalError(f"{self.spec.name} takes no other sockets")
            if len(descriptors) != len(share.arriving):
                raise InternalError(f"{len(descriptors)} of {len(share.arriving)} public sockets have arrived")
            arrived = dict(zip(share.arriving, descriptors, strict=True))
            await self._hold({number: arrived.get(number) for number in share.sockets})
        except (AntiphonError, OSError) as exception:
            log.error("the public sockets could not be taken over: %s", exception)
            status = _status_of("refused", _as_antiphon_error(exception))
            self._report(msgspec.structs.replace(status, share=share.number))
            return
        self._report(Status("updated", share=share.number))

    def failed(self, error: AntiphonError) -> None:
        """Tell that the process cannot do its work; it should end after this. ``run`` calls it for what main raises."""
        self._report(_status_of("failed", error))


def _status_of(state: Literal["failed", "refused"], error: AntiphonError, epoch: int = 0) -> Status:
    message = error.message
    if isinstance(error, ConfigError) and error.file:
        message = f"{error.file}:{error.line}: {message}"
    return Status(
        state,
        code=error.code,
        message=message[:1500],
        remedy=error.remedy[:500],
        setup=isinstance(error, SetupError),
        epoch=epoch,
    )


def run(main: Callable[[Child], Awaitable[None]]) -> int:
    """Be a child: take the spec from standard input, run ``main`` on a uvloop event loop, give back the exit code.

    An error that ``main`` raises is told to the supervisor and makes the exit code 1. It does not return if the supervisor dies.
    """
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    line, rest = read_line()
    lifeline = Lifeline(rest)
    threading.Thread(target=lifeline.watch, name="lifeline", daemon=True).start()
    try:
        spec = decode_spec(line)
    except InternalError as error:
        configure_logging("child")
        log.error("%s", error)
        return 1
    configure_logging(spec.name)
    for fd in (spec.status_fd, *spec.listen_fds):
        os.set_inheritable(fd, False)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_enter(spec, main, lifeline))


def configure_logging(name: str) -> None:
    """Send this process's log to standard error, one line per record, under the name of the process."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT.format(name=name), force=True)


async def _enter(spec: ProcessSpec, main: Callable[[Child], Awaitable[None]], lifeline: Lifeline) -> int:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    child = Child(spec, stopping)
    lifeline.attach(_listener(asyncio.get_running_loop(), child))
    try:
        child.spec = spec.loaded()
        await main(child)
    except Exception as exception:  # the border of the process: whatever it is, the supervisor must hear of it
        error = _as_antiphon_error(exception)
        if isinstance(error, InternalError):
            log.error("%s", error, exc_info=exception)
        child.failed(error)
        return 1
    return 0


def _as_antiphon_error(exception: Exception) -> AntiphonError:
    if isinstance(exception, AntiphonError):
        return exception
    if isinstance(exception, MemoryError):
        return NoMemory("the process ran out of memory", remedy="free memory, or choose smaller models or caches")
    if isinstance(exception, OSError) and exception.errno in (errno.ENOSPC, errno.EDQUOT):
        place = f" for {exception.filename}" if exception.filename else ""
        return NoSpace(f"there is no disk space left{place}", remedy="free some, or move cache_dir and data_dir to another disk")
    return InternalError(f"{type(exception).__name__}: {exception}", remedy="the log has the details")


def _pipe_writer(fd: int) -> Callable[[Status], None]:
    def write(status: Status) -> None:
        line = msgspec.json.encode(status) + b"\n"
        if len(line) > MAX_STATUS_BYTES:
            short = msgspec.structs.replace(status, detail="", message="", remedy="")
            line = msgspec.json.encode(short) + b"\n"
        with contextlib.suppress(BrokenPipeError):  # the supervisor has died; the lifeline ends this process
            os.write(fd, line)

    return write


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, even while it computes in C and no Python code can run."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the request took effect, so no signal will come
        os._exit(EXIT_ORPHANED)


def _listener(loop: asyncio.AbstractEventLoop, child: Child) -> Callable[[bytes, list[int]], None]:
    """Decodes on the lifeline's thread what the supervisor says, and lets ``child`` do it on its loop."""

    def hear(line: bytes, arrived: list[int]) -> None:
        try:
            share = decode_share(line)
            update = decode_update(line) if share is None else None
        except InternalError as error:
            log.error("%s", error)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
            if share is not None:
                count = len(share.arriving)
                descriptors, arrived[:count] = arrived[:count], []
                asyncio.run_coroutine_threadsafe(child.share(share, descriptors), loop)
            elif update is not None:
                loop.call_soon_threadsafe(child.prepare(update))

    return hear
