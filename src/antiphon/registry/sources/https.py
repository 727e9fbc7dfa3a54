"""``https://host/path/model.gguf``: one file by its address. Plain http is for this machine's own addresses only."""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from antiphon.core.errors import ModelSourceError
from antiphon.registry.download import Download, Downloader, check_url
from antiphon.registry.files import check_model_file
from antiphon.registry.sources import Fetch, Fetched, Source


class HttpsSource:
    """A file on a web server."""

    def check(self, source: Source) -> str:
        check_url(source.address)
        if source.inside:
            raise ModelSourceError(f'"#{source.inside}" is not understood', remedy="only #sha256=... can stand behind an address")
        check_model_file(_file_name(source.address))
        return source.address

    def fetch(self, source: Source, job: Fetch) -> Fetched:
        name = _file_name(source.address)
        remedy = "put the user and password for that host into ~/.netrc"
        download = Download(url=source.address, target=job.folder / name, sha256=job.sha256, progress=job.progress, denied=remedy)
        with Downloader() as downloader:
            return Fetched(folder=job.folder, files=(downloader.fetch(download),))


def _file_name(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).name


plugin = HttpsSource()
