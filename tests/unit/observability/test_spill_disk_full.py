"""A disk that is full while the control plane is down: calls are not held up, losses are told and counted, and it mends itself."""

import asyncio
import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from antiphon.core.events import CallFinished
from antiphon.core.types import Usage
from antiphon.observability.events.pipe import EventPipe
from antiphon.testing import FakeEventSink

EVENT = CallFinished("req-1", "chat/completions", "m", "p/m", "me", 200, "", False, 1.0, 0.5, 0.0, Usage(1, 2, 3), 1)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"only on machines where file systems may be mounted: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.005)


def tell(pipe: EventPipe, numbers: range) -> None:
    for number in numbers:
        pipe.call_finished(msgspec.structs.replace(EVENT, id=str(number)))


def all_told(pipe: EventPipe, count: int) -> bool:
    report = pipe.report()
    return report.spilled + report.lost == count


def test_what_a_full_disk_does_not_take_is_told_once_and_counted(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> FakeEventSink:
        sink = FakeEventSink()
        sink.up = False
        pipe = EventPipe(sink, small_disk / "events", max_bytes=1 << 30, gather=0.005, starting=0.0)
        for start in range(0, 3000, 300):
            tell(pipe, range(start, start + 300))
            await until(partial(all_told, pipe, start + 300))
        report = pipe.report()
        assert report.lost > 0
        assert report.spilled > 0
        sink.up = True
        await until(lambda: len(sink.events) == report.spilled)
        tell(pipe, range(3000, 3100))
        await until(lambda: len(sink.events) == report.spilled + 100)
        await pipe.close()
        return sink

    sink = asyncio.run(test())
    assert len({event.id for event in sink.events}) == len(sink.events)
    losses = [record.getMessage() for record in caplog.records if "are lost" in record.getMessage()]
    assert len(losses) == 1
    assert f"{small_disk / 'events'} takes no more: No space left on device" in losses[0]
    assert "free some space there" in losses[0]
    assert caplog.text.count("are not recorded now") == 1


def test_a_folder_that_may_not_be_written_to_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)  # rights do not bind the account that some of these tests run on
    assert "give this user the right" in lost_in(tmp_path / "events", caplog)


def test_a_folder_that_is_a_file_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "events").touch()
    assert f"{tmp_path / 'events'} takes no more" in lost_in(tmp_path / "events", caplog)


def test_the_own_bound_is_told_with_its_setting(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert "raise server.event_spill_mb" in lost_in(tmp_path, caplog, max_bytes=1)


def lost_in(folder: Path, caplog: pytest.LogCaptureFixture, max_bytes: int = 1 << 20) -> str:
    """What the log says where a pipe, whose sink is down, could not keep what it was told."""

    async def test() -> None:
        sink = FakeEventSink()
        sink.up = False
        pipe = EventPipe(sink, folder, max_bytes=max_bytes, gather=0.005)
        tell(pipe, range(10))
        await until(lambda: pipe.report().lost == 10)
        await pipe.close()

    asyncio.run(test())
    return next(record.getMessage() for record in caplog.records if "are lost" in record.getMessage())
