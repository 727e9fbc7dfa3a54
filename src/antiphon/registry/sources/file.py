"""``file:``: a .gguf file or a folder with OpenVINO IR on this machine, used where it lies and never copied or removed."""

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

    def fetch(self, source: Source, job: Fetch) -> Fetched:
        path = Path(source.address)
        try:
            if path.is_dir():
                names = (str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
                return self._taken(path, select_model_files(names, str(path)), job)
            if path.is_file():
                return self._taken(path.parent, (check_model_file(path.name),), job)
        except OSError as error:
            raise ModelSourceError(
                f"cannot read {error.filename or path}: {error.strerror}", remedy="give this user the right to read it"
            ) from error
        raise ModelSourceError(f"there is no file or folder {path}", remedy="correct the path")

    def _taken(self, folder: Path, names: tuple[str, ...], job: Fetch) -> Fetched:
        files = []
        for name in names:
            path = folder / name
            check_content(path, name)
            status = path.stat()
            digest = sha256_of(path, job.progress, f"checking {name}")
            files.append(ModelFile(path=name, size=status.st_size, sha256=digest, mtime_ns=status.st_mtime_ns))
        return Fetched(folder=folder, files=tuple(files))


plugin = FileSource()
