"""What a record says, as bytes that are the same wherever it is written."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from antiphon.core.audit import CALL, Act
from antiphon.core.events import CallFinished

VERSION: Final = 1
"""Of the form of a record. Further facts need no new one: a chain is verified over the bytes that were written."""

PERSONAL: Final = ("key", "user", "client", "actor")
"""What names somebody. It stands beside the record, which has only commitments to it, so that it can be erased."""

SALT_BYTES: Final = 16

_PERSONAL_OF_CALLS: Final = {"principal": "key", "user": "user", "client": "client"}
IN_CLEAR: Final = tuple(name for name in CallFinished.__struct_fields__ if name not in _PERSONAL_OF_CALLS)
"""Fields of a call that identify nobody."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Facts(msgspec.Struct, frozen=True):
    """What is to be recorded."""

    kind: str
    clear: Mapping[str, Any]
    personal: Mapping[str, str]
    """Only what is there: no empty texts."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a chain, as it is stored."""

    chain: str
    number: int
    at: float
    kind: str
    id: str
    model: str
    status: int
    """This and the four before repeat what ``record`` says, for searching."""
    key: str | None
    user: str | None
    client: str | None
    actor: str | None
    salts: dict[str, str]
    """Of each personal value that is there, in hexadecimal digits."""
    record: str
    """JSON. Its UTF-8 bytes are what is chained."""
    hash: str


def of_call(event: CallFinished) -> Facts:
    """What is recorded of a call."""
    personal = {to: value for name, to in _PERSONAL_OF_CALLS.items() if (value := getattr(event, name))}
    return Facts(CALL, {name: getattr(event, name) for name in IN_CLEAR}, personal)


def of_act(act: Act) -> Facts:
    """What is recorded of an act."""
    return Facts(act.kind, act.facts, {name: value for name in ("actor", "key") if (value := getattr(act, name))})


def commitment(salt: str, value: str) -> str:
    """SHA-256 of a salt (hexadecimal digits) and a text: whoever has both can check it, nobody else learns a thing."""
    return hashlib.sha256(bytes.fromhex(salt) + value.encode()).hexdigest()


def genesis(chain: str) -> str:
    """The hash that stands before a chain's first record, so that no record fits into another chain."""
    return hashlib.sha256(f"antiphon audit {chain}".encode()).hexdigest()


def link(previous: str, record: str) -> str:
    """The hash of a record behind another: SHA-256 of the other's hash, as bytes, and the record's bytes."""
    return hashlib.sha256(bytes.fromhex(previous) + record.encode()).hexdigest()


def entry(facts: Facts, place: tuple[str, int, str], at: float, token: Callable[[int], str] = secrets.token_hex) -> Entry:
    """The record of ``facts``, written at a Unix time, at a place: its chain, its number and the hash of the record before it."""
    chain, number, previous = place
    salts = {name: token(SALT_BYTES) for name in facts.personal}
    record = _encode(
        {
            "v": VERSION,
            "number": number,
            "at": at,
            "kind": facts.kind,
            "facts": facts.clear,
            "commitments": {name: commitment(salts[name], value) for name, value in facts.personal.items()},
        }
    ).decode()
    return Entry(
        chain=chain,
        number=number,
        at=at,
        kind=facts.kind,
        id=str(facts.clear.get("id", "")),
        model=str(facts.clear.get("model", "")),
        status=int(facts.clear.get("status", 0)),
        key=facts.personal.get("key"),
        user=facts.personal.get("user"),
        client=facts.personal.get("client"),
        actor=facts.personal.get("actor"),
        salts=salts,
        record=record,
        hash=link(previous, record),
    )
