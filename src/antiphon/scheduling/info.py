"""What is told of a replica: who it is, and how busy it says that it is."""

import msgspec

from antiphon.scheduling.settings import LimitSettings


class ReplicaInfo(msgspec.Struct, frozen=True):
    """What is known of a replica before it has answered anything."""

    name: str
    weight: float = 1.0
    """Share of the traffic, against the others', for policies that go by weight."""
    region: str = ""
    rack: str = ""
    host: str = ""
    limits: LimitSettings = LimitSettings()
    cache_blocks: int = 4096
    """Prefix blocks that its KV cache holds."""


class Reported(msgspec.Struct, frozen=True, gc=False):
    """What a replica says of its own load."""

    running: int
    waiting: int
    kv_usage: float = 0.0
    """Share of its KV memory in use, 0..1."""
    tokens: int = -1
    """Tokens in its KV memory that running calls need; negative where it does not tell."""
