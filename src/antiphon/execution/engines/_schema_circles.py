"""Finds JSON Schemas that refer to themselves without ever saying anything.

The library compiles ``{"$ref": "#"}`` into a grammar that allows no token at all, and then samples from all of them alike. A schema
may refer to itself inside a property or an item, where there is something to write before it comes round again.
"""

import json
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote

_ANY_OF: Final = ("anyOf", "oneOf")


class Circular(ValueError):
    """The schema goes round in a circle; the text says where."""


def check_circles(schema: str) -> None:
    """Raises Circular where a part of ``schema``, which is JSON, must be itself. Only references within it are followed."""
    root = json.loads(schema)
    done: set[int] = set()
    left: list[Any] = [root]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            try:
                _Search(root, done).follow(node)
            except RecursionError:
                raise Circular("its references are too long a chain") from None
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)


class _Search:
    """A walk along what a schema must also be. ``done`` are the nodes that were found to lead nowhere bad."""

    def __init__(self, root: Any, done: set[int]) -> None:
        self._root = root
        self._done = done
        self._open: set[int] = set()

    def follow(self, node: Any) -> None:
        """Raises Circular where ``node`` comes back to itself."""
        if not isinstance(node, dict) or id(node) in self._done:
            return
        reference = node.get("$ref")
        if id(node) in self._open:
            where = reference if isinstance(reference, str) else "one of its parts"
            raise Circular(f"it refers to itself without end, by {where[:200]}")
        self._open.add(id(node))
        if isinstance(reference, str):
            self.follow(_found(self._root, reference))
        for part in _list(node.get("allOf")):
            self.follow(part)
        for key in _ANY_OF:
            self._follow_alternatives(_list(node.get(key)))
        self._open.discard(id(node))
        self._done.add(id(node))

    def _follow_alternatives(self, parts: Sequence[Any]) -> None:
        """One of these that says something is enough."""
        circle: Circular | None = None
        for part in parts:
            before = set(self._open)
            try:
                self.follow(part)
            except Circular as error:
                circle = error
                self._open = before
            else:
                return
        if circle is not None:
            raise circle


def _found(root: Any, reference: str) -> Any:
    """What a reference such as ``#/$defs/node`` means (RFC 6901); None where it means nothing here."""
    place = root
    if not reference.startswith("#"):
        return None
    for step in unquote(reference[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict):
            place = place.get(name)
        elif isinstance(place, list) and name.isdecimal() and int(name[:9]) < len(place):
            place = place[int(name[:9])]
        else:
            return None
    return place


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
