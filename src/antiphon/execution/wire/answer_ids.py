"""Ids of answers: as the caller's dialect has them, made of what the server told, so that both can be found by it."""

from typing import Final

CHAT: Final = "chatcmpl-"
"""What those of OpenAI's chat endpoint begin with."""
MESSAGE: Final = "msg_"
"""What those of Anthropic's begin with."""
_PREFIXES: Final = (CHAT, MESSAGE)


def answer_id(prefix: str, told: str, request_id: str) -> str:
    """The id of an answer whose server ``told`` one; that of the request serves where it told none."""
    if told.startswith(prefix):
        return told
    bare = told or request_id
    for other in _PREFIXES:
        bare = bare.removeprefix(other)
    return prefix + bare
