"""The foreground process of ``antiphon serve``."""

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Mapping

from antiphon.bootstrap.plan import PlannedProcess, plan
from antiphon.bootstrap.publisher import Publisher
from antiphon.config import Settings
from antiphon.core.errors import AntiphonError, ConfigError, Draining, InternalError, SetupError
from antiphon.supervisor.fleet import Fleet
from antiphon.supervisor.hangup import Hangup
from antiphon.supervisor.keeper import Timings
from antiphon.supervisor.notice import Notice
from antiphon.supervisor.rundir import RunDir
from antiphon.supervisor.sockets import PublicSockets
from antiphon.supervisor.stand_in import stand_in

log = logging.getLogger(__name__)

Loaded = tuple[Settings, Mapping[str, str]]
"""Settings, and for each local model the folder or file of its weights."""

Planner = Callable[[Settings, Mapping[str, str], str], tuple[PlannedProcess, ...]]


class Supervisor:
    """Starts the processes that the settings ask for and answers for them until it is told to end.

    SIGTERM and SIGINT drain, a second one kills; SIGHUP calls ``reload``, in a thread of its own, and goes over to what it returns.
    ``notify`` hears the news on the thread that called ``run``, and must show it: what is told as a notice is not logged as well.
    It must return soon. ``hangup`` is for callers that have something to do before and would not lose a SIGHUP meanwhile.
    ``planner`` and ``timings`` are for tests.
    """

    def __init__(
        self,
        settings: Settings,
        paths: Mapping[str, str],
        *,
        reload: Callable[[], Loaded],
        notify: Callable[[Notice], None],
        hangup: Hangup | None = None,
        planner: Planner = plan,
        timings: Timings | None = None,
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._load = reload
        self._notify = notify
        self._hangup = hangup
        self._planner = planner
        self._timings = timings or Timings()

    def run(self) -> int:
        """Serve until told to end; gives back the exit code 0. Call it on the main thread, where signals arrive.

        Raises PortBusy or another SetupError before anything is started, and SetupError where a worker cannot do its work at its
        first start; then everything has been ended again.
        """
        with contextlib.ExitStack() as stack:
            server = self._settings.server
            sockets = PublicSockets(server.host, server.port, tls=bool(server.tls_cert))
            stack.callback(sockets.close)
            run_dir = RunDir()
            stack.callback(run_dir.close)
            self._publisher = publisher = Publisher(self._settings)
            stack.callback(publisher.close)
            planned = self._planner(self._settings, self._paths, run_dir.path)
            planned = publisher.publish(planned, self._settings, publisher.first_epoch)
            publisher.accept()
            asyncio.run(self._serve(planned, run_dir.path, sockets))
        self._tell(Notice("ended"))
        return 0

    async def _serve(self, planned: tuple[PlannedProcess, ...], run_dir: str, sockets: PublicSockets) -> None:
        publisher = self._publisher
        fleet = Fleet(run_dir, sockets, self._timings, self._tell, epoch=publisher.first_epoch, prepare=publisher.mend)
        course = _Course(fleet, self._hangup or Hangup())
        reloads = asyncio.create_task(self._reload_when_asked(course, run_dir), name="reload")
        announcement = asyncio.create_task(self._announce(course, sockets.address), name="announce")
        try:
            fleet.start(planned)
            await course.ending.wait()
            self._tell(Notice("draining"))
            for task in (reloads, announcement):
                task.cancel()
            await asyncio.gather(reloads, announcement, return_exceptions=True)
            await self._drain(fleet, sockets)
        finally:
            fleet.kill()
        if course.error is not None:
            raise course.error

    async def _drain(self, fleet: Fleet, sockets: PublicSockets) -> None:
        """End all processes in order. Whoever connects meanwhile, or has connected and found no worker yet, is told so."""
        farewell = stand_in(sockets.listening, self._settings.server, Draining())
        try:
            await fleet.drain(self._settings.server.grace)
        finally:
            await farewell.drain()

    async def _announce(self, course: "_Course", address: str) -> None:
        error = await course.fleet.workers_ready()
        if error is not None:
            course.end(SetupError(error.message, remedy=error.remedy))
            return
        course.answering.set()
        await course.fleet.all_started()
        course.fleet.note(serving=True)
        self._tell(Notice("serving", text=address))

    async def _reload_when_asked(self, course: "_Course", run_dir: str) -> None:
        await course.answering.wait()
        while True:
            await course.hangup.wait()
            course.hangup.clear()
            self._tell(Notice("reloading"))
            try:
                await self._change(course.fleet, run_dir)
            except AntiphonError as error:
                course.fleet.note(reload_error=str(error))
                self._tell(Notice("refused", text=str(error)))
            else:
                course.fleet.note(reload_error="")
                self._tell(Notice("reloaded"))

    async def _change(self, fleet: Fleet, run_dir: str) -> None:
        settings, paths = await _in_thread(self._load)
        old, new = self._settings.server, settings.server
        if (old.host, old.port) != (new.host, new.port):
            raise ConfigError(
                f"the address cannot change from {old.host}:{old.port} to {new.host}:{new.port} while the server runs",
                remedy="this needs a restart",
            )
        planned = self._planner(settings, paths, run_dir)
        planned = await asyncio.to_thread(self._publisher.publish, planned, settings, fleet.epoch + 1)
        await fleet.change(planned, new.grace)
        self._publisher.accept()
        self._settings, self._paths = settings, paths

    def _tell(self, notice: Notice) -> None:
        try:
            self._notify(notice)
        except Exception:  # the border to code of the caller's: a terminal that is gone must not end the server
            log.exception("a notice could not be shown")


class _Course:
    """Where a server is between its start and its end, and the signals that move it on."""

    def __init__(self, fleet: Fleet, hangup: Hangup) -> None:
        self.fleet = fleet
        self.answering = asyncio.Event()
        """Every worker has been ready."""
        self.hangup = asyncio.Event()
        self.ending = asyncio.Event()
        self.error: SetupError | None = None
        loop = asyncio.get_running_loop()
        hangup.attach(loop, self.hangup.set, self.ending.set)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_end)

    def end(self, error: SetupError) -> None:
        """End the server because it cannot do its work."""
        self.error = error
        self.ending.set()

    def _told_to_end(self) -> None:
        if self.ending.is_set():
            log.warning("told to end again: killing what still runs")
            self.fleet.kill()
        self.ending.set()


async def _in_thread(load: Callable[[], Loaded]) -> Loaded:
    """The result of ``load``, which may take long: in a daemon thread, so that the server can end before it returns."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Loaded] = loop.create_future()

    def settle(value: Loaded | None, error: AntiphonError | None) -> None:
        if result.done():
            return
        if value is not None:
            result.set_result(value)
        elif error is not None:
            result.set_exception(error)

    def work() -> None:
        value: Loaded | None = None
        failure: AntiphonError | None = None
        try:
            value = load()
        except AntiphonError as error:
            failure = error
        except Exception as error:  # the border to code of the caller's: a reload must not end the server
            log.exception("the settings could not be read again")
            failure = InternalError(f"the settings could not be read again: {type(error).__name__}: {error}")
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended meanwhile
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, name="reload", daemon=True).start()
    return await result
