"""Names of the responses that are written here, and of their items. An item's name tells which response it belongs to."""

import re
import secrets

_RESPONSE = re.compile(r"resp_(ap[0-9a-f]{32})")
_ITEM = re.compile(r"[a-z]+_(ap[0-9a-f]{32})_i?[0-9]+")


def new() -> str:
    """A name that no other response has and that nobody can guess."""
    return f"resp_ap{secrets.token_hex(16)}"


def is_ours(response: str) -> bool:
    """Whether a response of this name was written here; those of model servers are named by them."""
    return _RESPONSE.fullmatch(response) is not None


def of_output(kind: str, response: str, place: int) -> str:
    """The name of an output item, ``kind`` being ``msg``, ``fc`` or ``rs``."""
    return f"{kind}_{response[5:]}_{place}"


def of_input(kind: str, response: str, place: int) -> str:
    """The name of an item that a caller gave without one."""
    return f"{kind}_{response[5:]}_i{place}"


def response_of(item: str) -> str:
    """The response that an item belongs to; empty for an item that was not named here."""
    found = _ITEM.fullmatch(item)
    return f"resp_{found[1]}" if found is not None else ""
