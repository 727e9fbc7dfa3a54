"""What of a conversation only some dialects can say: the names of who speaks, and what the system says in the middle of it.

A writer of a dialect that has no words for one of them refuses it by its place. Whoever allows that it is left out has all names
taken away, or what the system says moved to the beginning.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from antiphon.core.errors import UnsupportedParameter
from antiphon.execution.wire.chat import ChatRequest, Message, unsupported

_SYSTEM: Final = ("system", "developer")
_NAME: Final = ".name"
_ROLE: Final = ".role"


def refuse_names(request: ChatRequest) -> None:
    """Raise UnsupportedParameter for the first name that tells speakers apart, for a server that knows none.

    The name of a tool tells what its call tells too. One name for all that the system says tells nobody apart.
    """
    for message in _named(request.messages):
        reason = "this model's server does not know the names of who speaks"
        raise unsupported(message.place + _NAME, reason, "leave it out, or say it in the text")


def refuse_late_system(request: ChatRequest) -> None:
    """Raise UnsupportedParameter for the first message of the system behind another, for a server that takes none there."""
    for message in late_system(request.messages):
        raise no_place(message)


def no_place(message: Message) -> UnsupportedParameter:
    """The error for what the system says where the server does not take it."""
    reason = f"this model's server takes no {message.role} message at this place in a conversation"
    return unsupported(message.place + _ROLE, reason, "put it before all others, or let the user say it")


def late_system(messages: Sequence[Message]) -> list[Message]:
    """What the system says behind a message of another."""
    first = next((at for at, message in enumerate(messages) if message.role not in _SYSTEM), len(messages))
    return [message for message in messages[first:] if message.role in _SYSTEM and message.parts]


def without(request: ChatRequest, param: str) -> tuple[ChatRequest, list[str]] | None:
    """The request without what was refused as ``param``, and whatever is of its kind, and the places of all of it.

    None where that is none of what is refused here.
    """
    if param.endswith(_NAME) and any(message.place + _NAME == param for message in request.messages):
        named = _named(request.messages)
        places = {message.place for message in named}
        bare = tuple(
            msgspec.structs.replace(message, name="") if message.place in places else message for message in request.messages
        )
        return msgspec.structs.replace(request, messages=bare), [message.place + _NAME for message in named]
    late = late_system(request.messages)
    if any(message.place + _ROLE == param for message in late):
        return msgspec.structs.replace(request, messages=_system_first(request.messages)), [m.place + _ROLE for m in late]
    return None


def _named(messages: Sequence[Message]) -> list[Message]:
    systems = {message.name for message in messages if message.role in _SYSTEM}
    telling = ("user", "assistant", *(_SYSTEM if len(systems) > 1 else ()))
    return [message for message in messages if message.name and message.role in telling]


def _system_first(messages: Sequence[Message]) -> tuple[Message, ...]:
    first = [message for message in messages if message.role in _SYSTEM]
    return (*first, *(message for message in messages if message.role not in _SYSTEM))
