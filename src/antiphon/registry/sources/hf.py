"""``hf:owner/repository[@revision][#file]``: a file or a whole repository of the Hugging Face Hub, or of a mirror of it.

Environment: ``HF_ENDPOINT`` is the base address, ``HF_TOKEN`` the access token; it is sent to that host only. Paths as in the Hub's
documented API: ``/api/models/{repository}/revision/{revision}`` and ``/{repository}/resolve/{revision}/{file}``.
"""

import re
from urllib.parse import quote

import msgspec

from antiphon.core.errors import DownloadFailed, ModelSourceError
from antiphon.registry.disk import require_space
from antiphon.registry.download import BearerAuth, Download, Downloader, check_url
from antiphon.registry.files import check_model_file, select_model_files
from antiphon.registry.sources import Fetch, Fetched, Source

DEFAULT_ENDPOINT = "https://huggingface.co"
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ADDRESS = re.compile(rf"(?P<repository>{_PART}(?:/{_PART})?)(?:@(?P<revision>{_PART}(?:/{_PART})*))?")


class _LargeFile(msgspec.Struct, frozen=True):
    sha256: str


class _HubFile(msgspec.Struct, frozen=True):
    """A file as the Hub lists it with ``blobs=true``."""

    rfilename: str
    size: int = 0
    lfs: _LargeFile | None = None


class _HubListing(msgspec.Struct, frozen=True):
    sha: str
    """The commit that the revision stands for."""
    siblings: tuple[_HubFile, ...] = ()


class HuggingFaceSource:
    """The Hugging Face Hub."""

    def check(self, source: Source) -> str:
        if not _ADDRESS.fullmatch(source.address):
            raise ModelSourceError(
                f'"{source}" does not name a repository',
                remedy="write hf:owner/repository, hf:owner/repository@revision#model.gguf",
            )
        if source.inside:
            check_model_file(source.inside)
        return source.address

    def fetch(self, source: Source, job: Fetch) -> Fetched:
        hub = _Hub(source, job)
        with Downloader() as downloader:
            listing = hub.listing(downloader)
            known = {file.rfilename: file for file in listing.siblings}
            if source.inside and source.inside not in known:
                raise DownloadFailed(f"{source} is not in the repository", remedy=f"it has: {', '.join(sorted(known)[:12])}")
            names = (source.inside,) if source.inside else select_model_files(known, str(source))
            missing = sum(known[name].size for name in names if not (job.folder / name).exists())
            require_space(job.folder, missing if len(names) > 1 else 0)
            return Fetched(
                folder=job.folder, files=tuple(downloader.fetch(hub.download(listing.sha, known[name], names)) for name in names)
            )


class _Hub:
    """The addresses of one repository and the right to read it."""

    def __init__(self, source: Source, job: Fetch) -> None:
        parts = _ADDRESS.fullmatch(source.address)
        repository, revision = parts.group("repository", "revision") if parts else ("", "")
        self._repository = repository
        self._revision = revision or "main"
        self._job = job
        self._endpoint = job.environ.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT
        check_url(self._endpoint)
        token = job.environ.get("HF_TOKEN", "").strip()
        self._auth = BearerAuth(token, self._endpoint) if token else None
        page = f"{self._endpoint}/{repository}"
        if token:
            self._denied = f"accept the model's licence at {page}, and see that HF_TOKEN is a token of that account"
        else:
            self._denied = (
                f"it does not exist, is private, or wants its licence accepted at {page}; then set HF_TOKEN to your token"
            )

    def listing(self, downloader: Downloader) -> _HubListing:
        url = f"{self._endpoint}/api/models/{self._repository}/revision/{quote(self._revision, safe='')}?blobs=true"
        try:
            return msgspec.json.decode(downloader.read(url, self._auth, self._denied), type=_HubListing)
        except msgspec.MsgspecError as error:
            raise DownloadFailed(
                f"{self._endpoint} answers with something that is not a list of files: {error}", remedy="check HF_ENDPOINT"
            ) from error

    def download(self, commit: str, file: _HubFile, names: tuple[str, ...]) -> Download:
        """The file of that commit, so that all files fit together even while somebody pushes new ones."""
        name = file.rfilename
        return Download(
            url=f"{self._endpoint}/{self._repository}/resolve/{quote(commit, safe='')}/{quote(name)}",
            target=self._job.folder / name,
            name=name,
            sha256=self._job.sha256 if self._job.sha256 and len(names) == 1 else file.lfs.sha256 if file.lfs else "",
            auth=self._auth,
            progress=self._job.progress,
            denied=self._denied,
        )


plugin = HuggingFaceSource()
