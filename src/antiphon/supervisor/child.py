"""One process of the operating system: how it is started, heard and ended."""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence

import msgspec

from antiphon.bootstrap.child_environment import child_environment
from antiphon.bootstrap.child_settings import child_model, child_settings
from antiphon.bootstrap.lifeline import EXIT_ORPHANED, MAX_DESCRIPTORS
from antiphon.bootstrap.plan import PlannedProcess
from antiphon.bootstrap.process import ProcessSpec, Status, Update, encode_spec, encode_update
from antiphon.bootstrap.shares import Share, encode_share
from antiphon.core.errors import NoMemory, SetupError
from antiphon.core.processes import ProcessError

log = logging.getLogger(__name__)

STATUS_BLOCK = 1 << 16


class Assignment(msgspec.Struct, frozen=True):
    """A planned process and what the supervisor adds to it."""

    planned: PlannedProcess
    run_dir: str
    epoch: int
    listen_fds: tuple[int, ...] = ()


class ChildProcess:
    """A running child. ``ended`` is done, with the exit code, once it is reaped and everything it has told has been heard.

    Must be made on an event loop's thread that lives as long as the process: on Linux the children die with the thread that started
    them. Raises SetupError or NoMemory where the operating system refuses to start it.
    """

    def __init__(self, assignment: Assignment, hear: Callable[[Status], None]) -> None:
        self.name = assignment.planned.name
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._hear = hear
        self._rest = b""
        self._speaking = threading.Lock()
        """Held while its lifeline is written to or closed, so that no byte goes to whatever has the number next."""
        self._status, write_end = os.pipe()
        self._lifeline, stdin = socket.socketpair()
        try:
            self._process = self._start(assignment, stdin, write_end)
        except BaseException:
            os.close(self._status)
            self._lifeline.close()
            raise
        finally:
            os.close(write_end)
            stdin.close()
        self._holds = frozenset(assignment.listen_fds)
        self._shares = 0
        os.set_blocking(self._status, False)
        asyncio.get_running_loop().add_reader(self._status, self._read_status)
        spec = encode_spec(_spec(assignment, write_end))
        # a thread, because writing to a child and waiting for it block, and differ from platform to platform in any other form
        threading.Thread(
            target=self._attend, args=(spec, asyncio.get_running_loop()), name=f"attend-{self.name}", daemon=True
        ).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def update(self, update: Update) -> None:
        """Tell it of new settings, from a thread of its own, since the lifeline may be full. It answers by a ``Status``."""
        threading.Thread(target=self._say, args=(encode_update(update),), name=f"update-{self.name}", daemon=True).start()

    def share(self, listen_fds: Sequence[int]) -> int:
        """Tell it which public sockets to accept on from now on; gives back the number that its ``Status`` will name."""
        self._shares += 1
        arriving = tuple(fd for fd in listen_fds if fd not in self._holds)
        self._holds = frozenset(listen_fds)
        line = encode_share(Share(self._shares, tuple(listen_fds), arriving))
        threading.Thread(target=self._say, args=(line, arriving), name=f"share-{self.name}", daemon=True).start()
        return self._shares

    def terminate(self) -> None:
        """Ask it to finish what it has begun and to end."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it now, together with whatever it has started itself."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _start(self, assignment: Assignment, stdin: socket.socket, status_fd: int) -> subprocess.Popen[bytes]:
        planned = assignment.planned
        try:
            return subprocess.Popen(
                planned.command,
                stdin=stdin.fileno(),
                stdout=2,  # the supervisor's standard output belongs to the command line
                env=child_environment(planned.role, planned.settings, planned.environment, os.environ),
                pass_fds=(status_fd, *assignment.listen_fds),
                start_new_session=True,  # Ctrl-C reaches the supervisor alone, which ends the children in order
            )
        except OSError as error:
            kind = NoMemory if isinstance(error, BlockingIOError) or error.errno == errno.ENOMEM else SetupError
            raise kind(
                f"{planned.name} cannot be started: {error.strerror}",
                remedy="check the memory and the limits on processes and open files",
            ) from error

    def _attend(self, spec: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self._say(spec)
        code = self._process.wait()
        with self._speaking:
            self._lifeline.close()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._finish, code)

    def _say(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Write a line, after empty ones that the descriptors travel on."""
        with self._speaking, contextlib.suppress(OSError):  # it ended before it had read all, and whoever waits for it knows
            if self._lifeline.fileno() < 0:
                return
            for start in range(0, len(descriptors), MAX_DESCRIPTORS):
                socket.send_fds(self._lifeline, [b"\n"], list(descriptors[start : start + MAX_DESCRIPTORS]))
            self._lifeline.sendall(data)

    def _finish(self, code: int) -> None:
        self._read_status()
        if self._status >= 0:
            self._close_status()
        if not self.ended.done():
            self.ended.set_result(code)

    def _read_status(self) -> None:
        while self._status >= 0:
            try:
                data = os.read(self._status, STATUS_BLOCK)
            except BlockingIOError:
                return
            if not data:
                self._close_status()
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._tell(line)

    def _tell(self, line: bytes) -> None:
        try:
            status = msgspec.json.decode(line, type=Status)
        except msgspec.MsgspecError as error:
            log.warning("%s told something that is no status: %s", self.name, error)
            return
        self._hear(status)

    def _close_status(self) -> None:
        asyncio.get_running_loop().remove_reader(self._status)
        os.close(self._status)
        self._status = -1


def describe_exit(name: str, code: int) -> ProcessError:
    """What an exit code means, where the process told no error itself."""
    if code == -signal.SIGKILL:
        return ProcessError(
            f"{name} was killed (SIGKILL)",
            remedy="if nobody did that, the system ran out of memory; its log (dmesg) tells",
        )
    if code < 0:
        return ProcessError(f"{name} was ended by {_signal_name(-code)}", remedy="its last lines in the log may tell why")
    if code == EXIT_ORPHANED:
        return ProcessError(f"{name} lost its connection to the supervisor")
    return ProcessError(f"{name} ended by itself with exit code {code}", remedy="its last lines in the log tell why")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _spec(assignment: Assignment, status_fd: int) -> ProcessSpec:
    planned = assignment.planned
    return ProcessSpec(
        role=planned.role,
        name=planned.name,
        epoch=assignment.epoch,
        run_dir=assignment.run_dir,
        settings=child_settings(planned.role, planned.settings),
        status_fd=status_fd,
        listen_fds=assignment.listen_fds,
        model=child_model(planned.model),
        model_path=planned.model_path,
        sources=planned.sources,
    )
