"""Keyword arguments of a call, taken apart: what is asked, and how the call is made."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from antiphon_client.options import BodyOptions, Options

_HOW = BodyOptions.__optional_keys__ | BodyOptions.__required_keys__


class Params(msgspec.Struct, frozen=True):
    """One call's arguments."""

    body: dict[str, Any]
    """Fields of the request; those given as None are left to the server and are not in it."""
    options: Options


def take(given: Mapping[str, Any], kind: Any, defaults: Options) -> Params:
    """Take the arguments of a call apart. ``kind`` is the typed dictionary of all that there are.

    Raises TypeError for one that is missing or unknown, as a plain function would, and ConfigurationError for a wrong option.
    """
    known: frozenset[str] = kind.__required_keys__ | kind.__optional_keys__
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            more = (
                "what has no parameter here goes into extra_body" if "extra_body" in known else f"known: {', '.join(sorted(known))}"
            )
            raise TypeError(f"unknown argument {name!r}; {hint}{more}")
    missing = [name for name in sorted(kind.__required_keys__) if given.get(name) is None]
    if missing:
        raise TypeError(f"the argument {missing[0]!r} is missing")
    body = {name: value for name, value in given.items() if name not in _HOW and value is not None}
    return Params(body | dict(given.get("extra_body") or {}), defaults.changed(given))
