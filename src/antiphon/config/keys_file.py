"""The file of callers' keys that ``server.keys_file`` names: ``name sha256:HEX`` lines, for more keys than YAML is good for.

Behind that, a line may say to whom a key belongs, and until when it counts: ``team=NAME``, ``project=NAME``, ``application=NAME``,
``user=NAME``, ``expires=TIME``, what it may do, ``roles=NAME,NAME``, and with which models, ``models=NAME,NAME``.
"""

import codecs
import contextlib
import hashlib
import re
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from antiphon.config.problems import raise_all
from antiphon.config.settings import KeySettings, ServerSettings
from antiphon.core.errors import ConfigError
from antiphon.core.moments import parse_moment
from antiphon.core.types import Principal

MAX_BYTES = 256 << 20
"""Size of the file at most: some two million keys."""

MAX_ERRORS = 20
"""Wrong lines that are told of; a file that is wrong as a whole should not fill the terminal."""

SETTLED = 2_000_000_000
"""Age of a change, ns, from which another one is sure to show in the time of the file."""

FIELDS = ("team", "project", "application", "user", "roles", "models", "expires")
"""What a line may say behind name and digest."""
LISTS = ("roles", "models")
"""Those of them that are lists, with commas."""
_NAME = rb"[^\s\x00-\x1f\x7f]"
_LINE = re.compile(
    rb"(%b{1,256})[ \t]+sha256:([0-9a-fA-F]{64})"
    rb"((?:[ \t]+(?:(?:team|project|application|user|expires)=%b{1,128}|(?:roles|models)=%b{1,4096}))*)" % (_NAME, _NAME, _NAME)
)
_HINT = (
    'write "NAME sha256:HEX", as "antiphon keys new NAME" prints it, and behind it team=, project=, application=, user=, '
    "roles=, models= or expires="
)


class KeyRow(msgspec.Struct, frozen=True, gc=False):
    """A caller's key, as it may lie on a disk."""

    name: str
    digest: bytes
    """SHA-256 of the key."""
    line: int = 0
    """Where it is written, counted from 1."""
    team: str = ""
    project: str = ""
    application: str = ""
    user: str = ""
    expires: float = 0.0
    """Unix time, seconds; 0 for never."""
    roles: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def principal(self) -> Principal:
        """Who calls with it."""
        return Principal(self.name, self.team, self.project, self.application, self.user, self.expires, self.roles, self.models)


def read_keys_file(path: Path, taken: Sequence[KeyRow] = ()) -> list[KeyRow]:
    """The keys of a file. Blank lines and what begins with ``#`` count for nothing.

    Raises ConfigError with the file and the line of whatever is wrong: also where a name or a key comes twice, in the file or
    together with those that are ``taken``.
    """
    file = str(path)
    data = _read(path)
    rows: list[KeyRow] = []
    errors: list[ConfigError] = []
    untold: list[int] = []
    names = {row.name: row for row in taken}
    digests = {row.digest: row for row in taken}
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.strip()  # noqa: PLW2901
        if not line or line.startswith(b"#"):
            continue
        row = _row(line, number)
        twice = "" if row is None else _twice(row, names, digests)
        if (row is None or twice) and len(errors) == MAX_ERRORS:
            untold.append(number)
        elif row is None:
            errors.append(ConfigError("the line is not a name and the SHA-256 of a key", remedy=_HINT, file=file, line=number))
        elif twice:
            errors.append(ConfigError(twice, remedy="remove one of them", file=file, line=number))
        else:
            rows.append(row)
            names[row.name] = digests[row.digest] = row
    if untold:
        what = f"and {len(untold)} more such lines" if len(untold) > 1 else "and this line too"
        errors.append(ConfigError(what, remedy="mend those above first", file=file, line=untold[0]))
    raise_all(errors)
    return rows


def key_rows(server: ServerSettings) -> list[KeyRow]:
    """Every key of the callers: those of ``server.keys``, then those of ``server.keys_file``. Raises ConfigError as above.

    What ``check_keys`` has read is taken, once, where the file has not changed since.
    """
    own = [_own(row) for row in server.keys]
    if not server.keys_file:
        return own
    path = Path(server.keys_file)
    with contextlib.suppress(IndexError):
        checked = _checked.pop()
        if checked.state == _state(path) and checked.own == own:
            return checked.rows
    return [*own, *read_keys_file(path, own)]


def _own(row: KeySettings) -> KeyRow:
    digest = hashlib.sha256(row.key.reveal().encode()).digest()
    try:
        expires = parse_moment(row.expires) if row.expires else 0.0
    except ValueError:  # which is told with its line
        expires = 0.0
    return KeyRow(row.name, digest, 0, row.team, row.project, row.application, row.user, expires, row.roles or (), row.models or ())


def check_keys(server: ServerSettings) -> None:
    """Raises ConfigError as above where the keys cannot be used. Whoever needs them next need not read the file again."""
    state = _state(Path(server.keys_file)) if server.keys_file else None
    rows = key_rows(server)
    if state is not None and time.time_ns() - state.modified > SETTLED:
        own = [row for row in rows if not row.line]
        _checked[:] = [_Checked(state, own, rows)]


class _State(msgspec.Struct, frozen=True):
    """What tells that a file is the same as before."""

    path: str
    device: int
    number: int
    size: int
    modified: int
    changed: int


class _Checked(msgspec.Struct, frozen=True):
    """Keys that were read, and from what."""

    state: _State
    own: list[KeyRow]
    rows: list[KeyRow]


_checked: list[_Checked] = []
"""The latest only, and only until it is taken: these are the keys of all callers."""


def _state(path: Path) -> _State | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return _State(str(path), about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def _read(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe, say, from which reading might never end
            raise ConfigError("the file of keys is no ordinary file", remedy="name a file of lines", file=str(path))
        if about.st_size > MAX_BYTES:
            raise ConfigError(f"the file of keys has more than {MAX_BYTES >> 20} MiB", remedy="name a smaller file", file=str(path))
        data = path.read_bytes()
    except OSError as error:
        remedy = "check the path and its rights; an empty file will do until there are keys"
        raise ConfigError(f"the file of keys cannot be read: {error.strerror}", remedy=remedy, file=str(path)) from None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in data:
        raise ConfigError("the file of keys is in UTF-16", remedy="save it as UTF-8", file=str(path))
    return data.removeprefix(codecs.BOM_UTF8)


def is_name(name: str) -> bool:
    """Whether a key may be called so: as the file can hold it, and as no digest is written."""
    try:
        line = f"{name} sha256:{'0' * 64}".encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable() and not name.startswith(("#", "sha256:")) and _LINE.fullmatch(line) is not None


def is_owner(name: str) -> bool:
    """Whether a team, a project, an application or a user may be called so."""
    try:
        return name.isprintable() and re.fullmatch(_NAME + rb"{1,128}", name.encode()) is not None
    except UnicodeEncodeError:
        return False


def _row(line: bytes, number: int) -> KeyRow | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    try:
        fields = match[3].decode().split()
        belongs = dict(field.split("=", 1) for field in fields)
        if len(belongs) != len(fields):
            return None  # one of them comes twice
        expires = parse_moment(belongs.pop("expires", "0"))
        roles, models = (tuple(filter(None, belongs.pop(field, "").split(","))) for field in LISTS)
        digest = bytes.fromhex(match[2].decode())
        return KeyRow(match[1].decode(), digest, number, **belongs, expires=expires, roles=roles, models=models)
    except ValueError:  # UnicodeDecodeError among them
        return None


def _twice(row: KeyRow, names: dict[str, KeyRow], digests: dict[bytes, KeyRow]) -> str:
    if other := names.get(row.name):
        return f'the name "{row.name}" is there twice, first {_place(other)}'
    if other := digests.get(row.digest):
        return f'the keys of "{other.name}" and "{row.name}" are the same, first {_place(other)}'
    return ""


def _place(row: KeyRow) -> str:
    return f"on line {row.line}" if row.line else "in server.keys"
