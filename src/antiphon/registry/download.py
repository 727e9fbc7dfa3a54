"""Downloads over HTTP that survive cuts, time-outs and the end of this process.

What has come is kept in a ``.part`` file with a note of the validator that the server gave (RFC 9110, section 8.8). The next try
asks for the rest with ``Range`` and ``If-Range`` (sections 14.2 and 13.1.5), so that the halves of two files never meet.
"""

import ipaddress
import logging
import netrc
import random
import ssl
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

import httpx2
import msgspec

from antiphon.core.errors import DownloadFailed, ModelSourceError
from antiphon.registry.disk import require_space, write_atomically
from antiphon.registry.files import ModelFile, PartFile, already_fetched, part_path
from antiphon.registry.progress import Progress, silent

_PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Statuses after which another try makes sense."""
_HEADERS = {"accept-encoding": "identity", "user-agent": "antiphon"}


class Download(msgspec.Struct, frozen=True):
    """One file to fetch."""

    url: str
    target: Path
    name: str = ""
    """Path of the file inside the model; empty means the name of the target."""
    sha256: str = ""
    """Expected hash; empty accepts every content."""
    auth: httpx2.Auth | None = None
    """Added to each request that it is for; None takes ~/.netrc."""
    progress: Progress = silent
    denied: str = ""
    """What to do where the server answers 401 or 403."""


class DownloadLimits(msgspec.Struct, frozen=True):
    """How long to try. All times in seconds."""

    connect: float = 15.0
    silence: float = 30.0
    """Longest wait for the next bytes."""
    tries: int = 6
    """Attempts in a row that bring nothing new before giving up."""
    first_pause: float = 0.5
    """Pause after the first failure; it doubles with each further one, up to ``longest_pause``."""
    longest_pause: float = 15.0
    redirects: int = 10


class BearerAuth(httpx2.Auth):
    """Shows a token to one origin and to no other, wherever redirects lead."""

    def __init__(self, token: str, url: str) -> None:
        self._token = token
        self._origin = httpx2.URL(url).origin

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        if request.url.origin == self._origin:
            request.headers["authorization"] = f"Bearer {self._token}"
        yield request


class _Note(msgspec.Struct, frozen=True):
    """What is remembered of a file that is not whole yet."""

    validator: str


class _Interrupted(Exception):
    """The attempt ended early; another one may succeed."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause
        """Seconds that the server asks to wait."""


class Downloader:
    """Fetches files one after the other; keeps connections open in between."""

    def __init__(self, limits: DownloadLimits | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self._limits = limits or DownloadLimits()
        self._sleep = sleep
        self._stack = ExitStack()
        self._clients: dict[bool, httpx2.Client] = {}
        self._tls: ssl.SSLContext | None = None
        self._netrc = _netrc()
        for name in ("httpx2", "httpcore2"):  # they log whole URLs, and some URLs carry signatures
            logging.getLogger(name).setLevel(logging.WARNING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fetch(self, job: Download) -> ModelFile:
        """Bring one file, going on where an earlier try stopped.

        Raises DownloadFailed when trying again did not help, ChecksumMismatch, ModelSourceError, NoSpace or SetupError.
        """
        name = job.name or job.target.name
        if found := already_fetched(job.target, name, job.sha256, job.progress):
            return found
        failures = 0
        farthest = 0
        while True:
            try:
                return self._attempt(job, name)
            except (_Interrupted, httpx2.TransportError) as error:
                reached = part_path(job.target).stat().st_size if part_path(job.target).exists() else 0
                failures = 1 if reached > farthest else failures + 1
                farthest = max(reached, farthest)
                reason = str(error) or type(error).__name__
                if failures >= self._limits.tries:
                    kept = f"; {reached} bytes are kept for the next try" if reached else ""
                    raise DownloadFailed(
                        f"{shown(job.url)} could not be downloaded: {reason}{kept}", remedy="check the network and try again"
                    ) from error
                job.progress(reached, None, f"{name}: {reason}; trying again")
                self._sleep(self._pause(failures, error))

    def read(self, url: str, auth: httpx2.Auth | None, denied: str, most: int = 32 << 20) -> bytes:
        """A small document, at most ``most`` bytes. Raises as ``fetch`` does."""
        failures = 0
        while True:
            try:
                with self._open(url, {}, auth) as response:
                    _refuse(response, url, denied)
                    body = b""
                    for chunk in response.iter_raw():
                        body += chunk
                        if len(body) > most:
                            raise DownloadFailed(f"{shown(url)} is larger than {most} bytes", remedy="check the source")
                    return body
            except (_Interrupted, httpx2.TransportError) as error:
                failures += 1
                if failures >= self._limits.tries:
                    raise DownloadFailed(
                        f"{shown(url)} could not be read: {error}", remedy="check the network and try again"
                    ) from error
                self._sleep(self._pause(failures, error))

    def _attempt(self, job: Download, name: str) -> ModelFile:
        note = _Notes(job.target)
        offset, validator = note.resume(without_validator=bool(job.sha256))
        headers = {"range": f"bytes={offset}-"} if offset else {}
        if validator:
            headers["if-range"] = validator
        with self._open(job.url, headers, job.auth) as response:
            whole = _already_whole(response, offset)
            if response.status_code == 416 and not whole:
                note.discard()
            if not whole:
                _refuse(response, job.url, job.denied)
            start, total = (offset, offset) if whole else _extent(response, job.url)
            if start not in {0, offset}:
                note.discard()
                raise _Interrupted("the server sends another part than the one asked for", pause=0)
            if total is None and not job.sha256 and response.headers.get("transfer-encoding", "").lower() != "chunked":
                raise DownloadFailed(
                    f"{shown(job.url)} does not say how long it is, so that a cut could not be noticed", remedy="give its SHA-256"
                )
            require_space(job.target, (total or 0) - start)
            with PartFile(job.target, total=total, keep=start, progress=job.progress) as part:
                note.write(_validator(response) or validator)
                for chunk in () if whole else response.iter_raw():
                    part.write(chunk)
                    job.progress(part.size, total, name)
                return _finish(job, name, part, note, resumed=start > 0)

    @contextmanager
    def _open(self, url: str, headers: dict[str, str], auth: httpx2.Auth | None) -> Iterator[httpx2.Response]:
        """The answer behind all redirects, each of which must lead to an address that is allowed."""
        request = self._client(url).build_request("GET", url, headers=_HEADERS | headers)
        for _ in range(self._limits.redirects + 1):
            target = str(request.url)
            check_url(target)
            response = self._send(request, auth)
            if response.next_request is None:
                try:
                    yield response
                finally:
                    response.close()
                return
            response.close()
            request = response.next_request
        raise DownloadFailed(f"{shown(url)} redirects more than {self._limits.redirects} times", remedy="check the address")

    def _send(self, request: httpx2.Request, auth: httpx2.Auth | None) -> httpx2.Response:
        url = str(request.url)
        try:
            return self._client(url).send(request, auth=auth or self._netrc, stream=True)
        except httpx2.ConnectError as error:
            if _is_about_certificate(error):
                raise DownloadFailed(
                    f"{shown(url)} could not be downloaded: {error}",
                    remedy="name your certificate authority's file with SSL_CERT_FILE",
                ) from error
            raise

    def _client(self, url: str) -> httpx2.Client:
        """A client that uses the proxies of the environment, except for this machine's own addresses."""
        direct = _is_loopback(urlsplit(url).hostname or "")
        if direct not in self._clients:
            timeout = httpx2.Timeout(self._limits.silence, connect=self._limits.connect)
            client = httpx2.Client(timeout=timeout, trust_env=not direct, verify=self._certificates())
            self._clients[direct] = self._stack.enter_context(client)
        return self._clients[direct]

    def _certificates(self) -> ssl.SSLContext:
        """The system's certificates, or those that SSL_CERT_FILE or SSL_CERT_DIR name; read once, which takes a moment."""
        if self._tls is None:
            self._tls = httpx2.create_ssl_context()
        return self._tls

    def _pause(self, failures: int, error: Exception) -> float:
        if isinstance(error, _Interrupted) and error.pause is not None:
            return min(error.pause, self._limits.longest_pause)
        pause: float = self._limits.first_pause * 2 ** (failures - 1)
        return min(pause, self._limits.longest_pause) * random.uniform(0.75, 1.25)  # noqa: S311 -- spreads retries, guards nothing


class _Notes:
    """The note beside a ``.part`` file."""

    def __init__(self, target: Path) -> None:
        self._part = part_path(target)
        self._path = target.with_name(f"{target.name}.part.json")

    def resume(self, *, without_validator: bool) -> tuple[int, str]:
        """Bytes to keep, and the validator that must still agree. Without one, only an expected hash makes it safe."""
        size = self._part.stat().st_size if self._part.exists() else 0
        try:
            validator = msgspec.json.decode(self._path.read_bytes(), type=_Note).validator
        except (FileNotFoundError, msgspec.MsgspecError):
            validator = ""
        return (size, validator) if validator or without_validator else (0, "")

    def write(self, validator: str) -> None:
        write_atomically(self._path, msgspec.json.encode(_Note(validator=validator)))

    def discard(self) -> None:
        self._part.unlink(missing_ok=True)
        self.remove()

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def _finish(job: Download, name: str, part: PartFile, note: _Notes, *, resumed: bool) -> ModelFile:
    if part.total is not None and part.size < part.total:
        raise _Interrupted(f"cut after {part.size} of {part.total} bytes")
    try:
        if part.total is not None and part.size > part.total:
            raise DownloadFailed(f"{shown(job.url)} is longer than the server said", remedy="try again, or take another source")
        file = part.finish(name, job.sha256)
    except ModelSourceError:
        note.discard()
        if resumed:  # the halves may be of two files
            raise _Interrupted("what was there did not fit; starting anew", pause=0) from None
        raise
    note.remove()
    return file


def _already_whole(response: httpx2.Response, offset: int) -> bool:
    """The server refuses the range because nothing is missing (RFC 9110, section 15.5.17)."""
    if response.status_code != 416:
        return False
    return bool(offset) and response.headers.get("content-range", "").replace(" ", "") == f"bytes*/{offset}"


def _extent(response: httpx2.Response, url: str) -> tuple[int, int | None]:
    """First byte of what the server sends, and size of the whole file, None where it does not say."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise DownloadFailed(f"{shown(url)} comes compressed, which was not asked for", remedy="take it from another source")
    length = response.headers.get("content-length", "")
    if response.status_code != 206:
        return 0, int(length) if length.isdecimal() else None
    span, _, total = response.headers.get("content-range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else -1, int(total) if total.isdecimal() else None


def _validator(response: httpx2.Response) -> str:
    """A strong entity tag, or else the time of the last change; empty where there is neither."""
    etag: str = response.headers.get("etag", "")
    if etag and not etag.startswith("W/"):
        return etag
    modified: str = response.headers.get("last-modified", "")
    return modified


def _refuse(response: httpx2.Response, url: str, denied: str) -> None:
    """Raises where the status is not one of success."""
    status = response.status_code
    if status in {200, 206}:
        return
    if status == 416:
        raise _Interrupted("the server does not have the part that is missing", pause=0)
    if status in _PASSING:
        wait = response.headers.get("retry-after", "")
        raise _Interrupted(f"the server answers with status {status}", pause=float(wait) if wait.isdecimal() else None)
    remedy = denied if status in {401, 403} else "check the address"
    raise DownloadFailed(f"{shown(url)} could not be downloaded: the server answers with status {status}", remedy=remedy)


def check_url(url: str) -> None:
    """Raises ModelSourceError unless the URL is https without a password in it, or http to this machine."""
    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.scheme in {"http", "https"} and parts.port != 0 and httpx2.URL(url).host
    except (ValueError, httpx2.InvalidURL):
        parts, usable = urlsplit(""), False
    if not usable:
        raise ModelSourceError(f'"{url}" is not the address of a file', remedy="write https://host/path/model.gguf")
    if {".", ".."} & set(unquote(parts.path).split("/")):
        raise ModelSourceError(f'{shown(url)} has a step "." or ".." in it', remedy="write the address without it")
    if parts.username or parts.password:
        raise ModelSourceError(f"{shown(url)}: a password in an address ends up in logs", remedy="put it into ~/.netrc")
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise ModelSourceError(
            f"{shown(url)} is not encrypted, so that anybody on the way could change the model", remedy="use https"
        )


def shown(url: str) -> str:
    """A URL that ``check_url`` lets pass, for people: without password and without its query, which may be a signature."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_about_certificate(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _netrc() -> httpx2.NetRCAuth | None:
    try:
        return httpx2.NetRCAuth()
    except (FileNotFoundError, netrc.NetrcParseError):
        return None
