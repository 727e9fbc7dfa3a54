"""Consistent hashing: which replicas a key belongs to, so that few keys move when replicas come and go.

Each replica stands at many places of a ring, and a key belongs to the next ones behind its own place (Karger et al., STOC 1997).
Finding them takes logarithmic time, where rendezvous hashing would ask every replica for every call.
"""

from bisect import bisect_right
from hashlib import blake2b
from typing import Final

PLACES: Final = 64
"""Places of one replica."""


class Ring:
    """A ring of replicas by name."""

    __slots__ = ("_members", "_owners", "_places")

    def __init__(self) -> None:
        self._members: dict[int, str] = {}
        self._places: list[int] = []
        self._owners: list[int] = []

    def set(self, members: dict[int, str]) -> None:
        """Numbers of the replicas and their names; where a replica stands depends on its name only."""
        if members == self._members:
            return
        self._members = dict(members)
        places = sorted((place_of(f"{name}/{part}"), member) for member, name in members.items() for part in range(PLACES))
        self._places = [place for place, _ in places]
        self._owners = [member for _, member in places]

    def owners(self, key: str, most: int) -> list[int]:
        """The first replicas that a key belongs to, different ones, the best first."""
        found: list[int] = []
        owners = self._owners
        count = len(owners)
        most = min(most, len(self._members))
        place = bisect_right(self._places, place_of(key))
        while len(found) < most:
            owner = owners[place % count]
            if owner not in found:
                found.append(owner)
            place += 1
        return found


def place_of(key: str) -> int:
    """Where a key stands."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
