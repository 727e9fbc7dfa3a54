"""What flows between the layers: the call, its frames and its usage."""

from collections.abc import Callable
from typing import Any

import msgspec

Headers = tuple[tuple[bytes, bytes], ...]
"""Header fields in the order of the wire, names in lower case."""


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens that one call used, as the model that answered counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the model read from its prefix cache; part of ``prompt_tokens``."""
    reasoning_tokens: int = 0
    """Completion tokens spent on reasoning; part of ``completion_tokens``."""


class Principal(msgspec.Struct, frozen=True, gc=False):
    """Who is calling: the name of the key that the caller showed, never the key itself, and to whom it belongs."""

    name: str = "anonymous"
    team: str = ""
    project: str = ""
    application: str = ""
    user: str = ""
    expires: float = 0.0
    """Unix time, seconds, from which on the key counts no longer; 0 for never."""
    roles: tuple[str, ...] = ()
    """What it may do; empty for what a key may whose configuration says nothing."""
    models: tuple[str, ...] = ()
    """The only models that it may use; empty for all that its roles may."""


ANONYMOUS = Principal()


class Wishes(msgspec.Struct, frozen=True, gc=False):
    """How a caller wants its call to be scheduled; what it does not say is decided by its route."""

    tier: int | None = None
    """Service tier: 0, 1 or 2."""
    realtime: bool | None = None
    """Served in order of arrival, before what only has a deadline."""
    first_token_within: float = 0.0
    """Seconds in which the first token is wanted; 0 where nothing was said."""
    answer_within: float = 0.0
    """Seconds in which the whole answer is wanted; 0 where nothing was said."""
    session: str = ""
    """Calls of one session have much of their prompt in common."""
    region: str = ""
    """Where the caller is."""


NO_WISHES = Wishes()


class Routing(msgspec.Struct, gc=False):
    """What a route has decided of a call so far; the route fills it in."""

    route: str
    replica: str = ""
    """``provider/model`` that answers; empty until one has begun."""
    waited: float = 0.0
    """Seconds for which the call was in its queue before that one was asked."""
    candidates: dict[str, float] = {}
    """Replicas that were compared, and what its policies gave each together, 0..1; empty where there was no choice."""
    hedged: bool = False
    """A second replica was asked while the first was silent."""
    degraded: str = ""
    """What answers in place of its main model, and why; empty where that answers."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """One request to a model, parsed no further than routing needs."""

    id: str
    """Request id, unique per call; given back as ``x-request-id``."""
    endpoint: str
    """Path below the API root, for example ``chat/completions``."""
    model: str
    """Model, alias or route as the caller named it."""
    body: bytes
    """The request body as it came: JSON, or a form."""
    stream: bool = False
    wants_usage: bool = False
    """The caller asked for the usage chunk (``stream_options.include_usage``)."""
    dialect: str = "openai"
    principal: Principal = ANONYMOUS
    trail: list[str] = []
    """Names of the replicas that were asked, in order; each replica writes its own."""
    drops: bool = False
    """What the model's server cannot do may be left out (``drop_unsupported``)."""
    dropped: list[str] = []
    """Fields that were left out, by their names."""
    content_type: bytes = b"application/json"
    """Of the body."""
    model_place: tuple[int, int] | None = None
    """In a body that is a form: where the model's name begins, and the place behind it."""
    wishes: Wishes = NO_WISHES
    max_tokens: int = 0
    """Longest answer that the caller takes; 0 where it did not say."""
    choices: int = 1
    """Answers that the caller wants (``n``)."""
    routings: list[Routing] = []
    """What routes decided of it, the first one first: each writes its own."""

    @property
    def target(self) -> str:
        """``provider/model`` that answers, or that was asked last where none does; empty where none was reached."""
        for routing in self.routings:
            if routing.replica:
                return routing.replica
        return self.trail[-1] if self.trail else ""

    @property
    def degraded(self) -> str:
        """What answers in place of the model that was asked for, and why; empty where that answers."""
        return ", ".join([routing.degraded for routing in self.routings if routing.degraded])


class Frame(msgspec.Struct, gc=False):
    """A piece of an answer on its way to the caller.

    Of a streamed answer it holds one or more whole server-sent events, of another answer any part of the body. The bytes go out
    as they came in; ``view`` decodes them, once, for whoever must look inside.
    """

    raw: bytes
    content: bool = True
    """False where a reader would see nothing of it (a role, a comment, a keep-alive)."""
    dialect: str = "openai"
    decode: Callable[[bytes], Any] | None = None
    _view: Any = None

    def view(self) -> Any:
        """The decoded events of this frame, or None where its dialect has no decoder."""
        if self._view is None and self.decode is not None:
            self._view = self.decode(self.raw)
        return self._view


class ModelCard(msgspec.Struct, frozen=True):
    """A model as a caller sees it in the catalogue."""

    id: str
    owned_by: str
    """Name of the provider, or ``antiphon`` for what runs on this machine."""
    created: int = 0
    """Unix time, seconds."""
    kind: str = "chat"
    """``chat`` or ``embedding``."""
    abilities: tuple[str, ...] = ()
    """What it can do, by the names of capabilities in the configuration."""
