"""Runs a supervisor over stand-in children. What it does is told by a file, which is read again on SIGHUP; notices go to stdout."""

import fcntl
import os
import sys
import termios
from pathlib import Path

import msgspec

from antiphon.bootstrap.plan import PlannedProcess, plan
from antiphon.bootstrap.process import configure_logging
from antiphon.config import Settings, decode_settings
from antiphon.core.errors import AntiphonError, ConfigError
from antiphon.supervisor import Notice, Supervisor
from antiphon.supervisor.keeper import Timings

CHILD = str(Path(__file__).with_name("child_program.py"))


class Script(msgspec.Struct, frozen=True):
    settings: msgspec.Raw
    behaviour: dict[str, str] = {}
    timings: Timings = Timings()


def read(path: Path) -> tuple[Script, Settings]:
    try:
        script = msgspec.json.decode(path.read_bytes(), type=Script)
        return script, decode_settings(bytes(script.settings))
    except msgspec.MsgspecError as error:
        raise ConfigError(str(error), file=str(path), line=1) from None


def paths_of(settings: Settings) -> dict[str, str]:
    return {model.name: "/nowhere" for model in settings.models}


def tell(notice: Notice) -> None:
    sys.stdout.write(msgspec.json.encode(notice).decode() + "\n")
    sys.stdout.flush()


def main(path: Path) -> int:
    configure_logging("supervisor")
    script, settings = read(path)

    def planner(settings: Settings, paths: object, run_dir: str) -> tuple[PlannedProcess, ...]:
        behaviour = read(path)[0].behaviour
        return tuple(
            msgspec.structs.replace(
                process,
                command=(sys.executable, CHILD),
                environment={**process.environment, "TEST_BEHAVIOUR": behaviour.get(process.name, "")},
            )
            for process in plan(settings, paths_of(settings), run_dir)
        )

    def reload() -> tuple[Settings, dict[str, str]]:
        _, settings = read(path)
        return settings, paths_of(settings)

    supervisor = Supervisor(settings, paths_of(settings), reload=reload, notify=tell, planner=planner, timings=script.timings)
    try:
        return supervisor.run()
    except AntiphonError as error:
        tell(Notice("failed", text=str(error)))
        return 1


def control_from(terminal: str) -> None:
    """Make a terminal the one whose end sends SIGHUP to this process."""
    fcntl.ioctl(os.open(terminal, os.O_RDWR), termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    for terminal in sys.argv[2:]:
        control_from(terminal)
    sys.exit(main(Path(sys.argv[1])))
