"""One process of the operating system: how it is started, heard and ended."""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable

import msgspec

from antiphon.bootstrap.plan import PlannedProcess
from antiphon.bootstrap.process import EXIT_ORPHANED, ProcessSpec, Status, Update, encode_spec, encode_update
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
        """Held while its standard input is written to or closed, so that no byte goes to whatever has the number next."""
        self._status, write_end = os.pipe()
        try:
            self._process = self._start(assignment, write_end)
        except BaseException:
            os.close(self._status)
            raise
        finally:
            os.close(write_end)
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
        """Tell it of new settings, from a thread of its own, since the pipe may be full. It answers by a ``Status``."""
        line = encode_update(update)
        threading.Thread(target=self._say, args=(line,), name=f"update-{self.name}", daemon=True).start()

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

    def _start(self, assignment: Assignment, status_fd: int) -> subprocess.Popen[bytes]:
        planned = assignment.planned
        try:
            return subprocess.Popen(
                planned.command,
                stdin=subprocess.PIPE,
                stdout=2,  # the supervisor's standard output belongs to the command line
                bufsize=0,
                env={**planned.environment, **os.environ},
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
        stdin = self._process.stdin
        assert stdin is not None
        self._say(spec)
        code = self._process.wait()
        with self._speaking:
            stdin.close()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._finish, code)

    def _say(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with self._speaking, contextlib.suppress(BrokenPipeError):  # it ended before it had read all
            if not stdin.closed:
                _write_all(stdin.fileno(), data)

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
        settings=planned.settings,
        status_fd=status_fd,
        listen_fds=assignment.listen_fds,
        model=planned.model,
        model_path=planned.model_path,
    )


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
