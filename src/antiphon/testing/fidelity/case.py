"""What a case is: what is asked, what the model's server does, how the caller behaves, and what has to come of it."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from antiphon.testing.fidelity.outcome import Outcome
from antiphon.testing.steps import PLAIN, Step, Wire

MARK = "[[fidelity]]"
"""Stands in each request, and becomes the mark by which the model's server knows the case. Every gateway passes text on."""

MODEL = "[[model]]"
"""Stands for the name of the model where the request is given as bytes."""

USUAL_LIMIT = 30.0
"""Seconds until an answer must be complete, unless the case says otherwise."""

ServerDialect = Literal["openai", "anthropic"]
Check = Callable[[Outcome], None]
"""Raises Miss, which says what is wrong."""


class Route(msgspec.Struct, frozen=True):
    """An endpoint of the gateway and the kind of server behind it: what a gateway offers or not as a whole."""

    name: str
    title: str
    path: str
    """At the gateway."""
    server: ServerDialect
    server_path: str
    """Where the model's server is asked."""
    callers: Literal["openai", "anthropic", "responses", "ollama"] = "openai"
    """What the callers speak."""
    optional: bool = True
    """A gateway may leave it out."""


CHAT = Route("chat", "Chat completions", "/v1/chat/completions", "openai", "/v1/chat/completions", optional=False)
COMPLETIONS = Route("completions", "Completions", "/v1/completions", "openai", "/v1/completions")
EMBEDDINGS = Route("embeddings", "Embeddings", "/v1/embeddings", "openai", "/v1/embeddings")
CHAT_ON_ANTHROPIC = Route(
    "chat-on-anthropic", "Chat completions before Anthropic's API", "/v1/chat/completions", "anthropic", "/v1/messages"
)
MESSAGES = Route(
    "messages", "Anthropic's messages before OpenAI's API", "/v1/messages", "openai", "/v1/chat/completions", "anthropic"
)
MESSAGES_ON_ANTHROPIC = Route(
    "messages-on-anthropic", "Anthropic's messages", "/v1/messages", "anthropic", "/v1/messages", "anthropic"
)
RESPONSES = Route("responses", "Responses", "/v1/responses", "openai", "/v1/chat/completions", "responses")
OLLAMA = Route("ollama", "Ollama's chat before OpenAI's API", "/api/chat", "openai", "/v1/chat/completions", "ollama")

ROUTES = (CHAT, COMPLETIONS, EMBEDDINGS, CHAT_ON_ANTHROPIC, MESSAGES, MESSAGES_ON_ANTHROPIC, RESPONSES, OLLAMA)


class Until(msgspec.Struct, frozen=True):
    """The model's server waits until the caller has these characters of the answer."""

    text: str


class IfUsageAsked(msgspec.Struct, frozen=True):
    """A step that is left out where the request does not say ``stream_options.include_usage``."""

    step: Step


class RetryOn(msgspec.Struct, frozen=True):
    """The header ``retry-after`` as a date, so many seconds from now."""

    seconds: float


Act: TypeAlias = Step | Until | IfUsageAsked | RetryOn


class Scene(msgspec.Struct, frozen=True):
    """What the model's server does."""

    acts: tuple[Act, ...]
    wire: Wire = PLAIN


class ReadAll(msgspec.Struct, frozen=True):
    """The caller reads the answer to its end."""


class Leave(msgspec.Struct, frozen=True):
    """The caller goes: when these characters of the answer have come, or when the model's server has been asked."""

    after: str = ""


class Crowd(msgspec.Struct, frozen=True):
    """So many callers ask at once, read so many bytes, and go together; meanwhile others ask small questions."""

    callers: int
    read: int


class Beside(msgspec.Struct, frozen=True):
    """The caller reads the answer to its end; meanwhile others ask small questions, one after another."""


Behaviour: TypeAlias = ReadAll | Leave | Crowd | Beside


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can go wrong."""

    id: str
    right: str
    """What is right, in a sentence."""
    body: Any
    """The request: an object, whose model is filled in, or bytes that are sent as they are."""
    scene: Scene
    checks: tuple[Check, ...]
    route: Route = CHAT
    caller: Behaviour = ReadAll()
    headers: tuple[tuple[str, str], ...] = ()
    """Of the request, beside the usual ones."""
    limit: float = USUAL_LIMIT
    """Seconds until the answer must be complete."""
    native: Scene | None = None
    """What the model's server does where the gateway passes the caller's dialect on to it."""

    @property
    def alone(self) -> bool:
        """It looks at times or keeps the gateway busy, so nothing else may run beside it."""
        return not isinstance(self.caller, ReadAll) or self.limit > USUAL_LIMIT

    @property
    def streamed(self) -> bool:
        """The caller asks for a stream."""
        if not isinstance(self.body, dict):
            return False
        return bool(self.body.get("stream", self.route is OLLAMA))


class Group(msgspec.Struct, frozen=True):
    """Cases of one theme."""

    name: str
    title: str
    about: str
    """What it is about, for the documentation."""
    sources: tuple[str, ...]
    """Where it is written what is right."""
    cases: tuple[Case, ...]
