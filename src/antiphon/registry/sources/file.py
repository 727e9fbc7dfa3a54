"""``file:``: a .gguf file or a folder with OpenVINO IR on this machine, used where it lies and never copied or removed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from antiphon.core.errors import ModelSourceError
from antiphon.registry.files import ModelFile, check_content, check_model_file, select_model_files, sha256_of
from antiphon.registry.sources import Fetch, Fetched, Source


class FileSource:
    """Files of this machine."""

    def check(self, source: Source) -> str:
        if source.inside:
            raise ModelSourceError(f'"{source}" has a # in it', remedy="rename the file, or name its folder")
        address = source.address.removeprefix("//") if source.address.startswith("///") else source.address
        if "\0" in address:
            raise ModelSourceError("the path holds a zero byte", remedy="correct the path")
        try:
            return str(Path(address).expanduser().absolute())
        except RuntimeError as error:  # ~ of a user that there is not
            raise ModelSourceError(f"{address}: there is no such user", remedy="write the path in full") from error

    def look(self, source: Source) -> None:
        with _readable(source):
            _model_at(Path(source.address))

    def fetch(self, source: Source, job: Fetch) -> Fetched:
        with _readable(source):
            folder, names = _model_at(Path(source.address))
            return Fetched(folder=folder, files=tuple(_hashed(folder / name, name, job) for name in names))


@contextlib.contextmanager
def _readable(source: Source) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelSourceError(
            f"cannot read {error.filename or source.address}: {error.strerror}", remedy="give this user the right to read it"
        ) from error


def _model_at(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder of a model and the names of its files in it, each of which begins as it should."""
    if path.is_dir():
        names = (str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
        folder, chosen = path, select_model_files(names, str(path))
    elif path.is_file():
        folder, chosen = path.parent, (check_model_file(path.name),)
    else:
        raise ModelSourceError(f"there is no file or folder {path}", remedy="correct the path")
    for name in chosen:
        check_content(folder / name, name)
    return folder, chosen


def _hashed(path: Path, name: str, job: Fetch) -> ModelFile:
    status = path.stat()
    digest = sha256_of(path, job.progress, f"checking {name}")
    return ModelFile(path=name, size=status.st_size, sha256=digest, mtime_ns=status.st_mtime_ns)


plugin = FileSource()
