"""The keys of all callers in little memory: their SHA-256 digests, sorted, in one string of bytes."""

import hashlib
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec

from antiphon.core.types import Principal

DIGEST = 32
"""Bytes of a SHA-256 digest."""
_PREFIX = 8
_BLOCK = 4096 * DIGEST
_LISTS = ("roles", "models")
"""Fields of a principal that are lists; no name in them has a comma."""
_NOBODY = "nobody" + 7 * "\t"
"""Whose key stands for an unknown one where there is none."""
_OFFSET = struct.Struct("<I")
_SPAN = struct.Struct("<II")


class KeyTable(msgspec.Struct, frozen=True):
    """Whose digest is whose. 100,000 keys take about 5 MB, where a dictionary of objects takes several times as much.

    The fields are views, so that a table that was read from a file is that file's bytes and no copy.
    """

    digests: memoryview = memoryview(b"")
    """Sorted, one behind the other."""
    offsets: memoryview = memoryview(b"")
    """Where in ``owners`` each name begins, in the order of ``digests``, and where the last one ends: 32 bits each."""
    owners: memoryview = memoryview(b"")
    """Who they are, as ``owner_text`` says it, in UTF-8, one behind the other."""
    required: bool = False
    """A caller must show a key. A table may be empty and require one all the same: then nobody may call."""

    @classmethod
    def of(cls, rows: Iterable[tuple[bytes, str]], *, required: bool = True) -> "KeyTable":
        """The table of digests and their owners. A digest must not come twice."""
        ordered = sorted(rows)
        names = [owner.encode() for _, owner in ordered]
        ends = [0]
        for name in names:
            ends.append(ends[-1] + len(name))
        digests = b"".join(digest for digest, _ in ordered)
        offsets = b"".join(map(_OFFSET.pack, ends))
        return cls(memoryview(digests), memoryview(offsets), memoryview(b"".join(names)), required)

    @classmethod
    def of_keys(cls, keys: Iterable[tuple[str, str]]) -> "KeyTable":
        """The table of names and their keys in clear. Without any key everybody may call."""
        rows = [(digest_of(key.encode()), owner_text(Principal(name))) for name, key in keys]
        return cls.of(rows, required=bool(rows))

    def __len__(self) -> int:
        return len(self.digests) // DIGEST

    def __iter__(self) -> Iterator[tuple[bytes, str]]:
        for index in range(len(self)):
            yield self.digest(index), self.owner(index)

    def digest(self, index: int) -> bytes:
        """The digest at a place of the order."""
        return bytes(self.digests[index * DIGEST : (index + 1) * DIGEST])

    def owner(self, index: int) -> str:
        """Whose key the one at a place of the order is, as ``owner_text`` says it."""
        start, end = _SPAN.unpack_from(self.offsets, index * _OFFSET.size)
        return str(self.owners[start:end], "utf-8")


class KeyIndex:
    """Finds digests in a table. It holds their first 8 bytes as numbers, which takes 8 bytes a key and is searched in C."""

    def __init__(self, table: KeyTable) -> None:
        self._table = table
        self._prefixes = array("Q")
        for start in range(0, len(table.digests), _BLOCK):  # in blocks, so that no second copy of the table is made
            numbers = array("Q")
            numbers.frombytes(table.digests[start : start + _BLOCK])
            self._prefixes.extend(numbers[:: DIGEST // _PREFIX])
        if sys.byteorder == "little":
            self._prefixes.byteswap()

    def owner(self, digest: bytes) -> str | None:
        """Whose key has this digest, as ``owner_text`` says it; None where it is nobody's."""
        known, owner = self.nearest(digest)
        return owner if known else None

    def nearest(self, digest: bytes) -> tuple[bool, str]:
        """Whether a digest is somebody's, and whose; of one that is nobody's, whose another one is, found by the same work."""
        last = len(self._prefixes) - 1
        if last < 0:
            return False, _NOBODY
        prefix = int.from_bytes(digest[:_PREFIX], "big")
        index = min(bisect_left(self._prefixes, prefix), last)
        while not (known := self._table.digest(index) == digest) and index < last and self._prefixes[index + 1] == prefix:
            index += 1
        return known, self._table.owner(index)


def digest_of(key: bytes) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key).digest()


def owner_text(principal: Principal) -> str:
    """Somebody as a short text: all that is known, in the order of the fields of ``Principal``, with tabs; no name has one.

    What is not known is an empty text, so that every owner is read by the same work.
    """
    known = msgspec.structs.asdict(principal)
    for field in _LISTS:
        known[field] = ",".join(known[field])
    return "\t".join(str(value) if value else "" for value in known.values())


def principal_of(text: str) -> Principal:
    """The reverse of ``owner_text``."""
    name, team, project, application, user, expires, roles, models = text.split("\t")
    roles_of, models_of = tuple(filter(None, roles.split(","))), tuple(filter(None, models.split(",")))
    return Principal(name, team, project, application, user, float(expires or "0.0"), roles_of, models_of)
