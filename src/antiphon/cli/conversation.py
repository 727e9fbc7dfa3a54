"""Conversations of ``antiphon chat``, kept as files that only their owner can read."""

import time
import uuid
from pathlib import Path

import msgspec

from antiphon.cli.chat_client import Message
from antiphon.core.errors import SetupError
from antiphon.registry.disk import disk_errors, write_atomically


class Conversation(msgspec.Struct):
    """What has been said. ``id`` is the stem of its file and begins with the time it was begun at, so that names sort by age."""

    id: str
    model: str
    messages: list[Message] = []

    @property
    def turns(self) -> int:
        """Questions that have been asked."""
        return sum(message.role == "user" for message in self.messages)


def begin(model: str, system: str = "") -> Conversation:
    """A new conversation, not yet on disk."""
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:8]}"
    return Conversation(name, model, [Message("system", system)] if system else [])


class Conversations:
    """The folder of conversations."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "conversations"

    def save(self, conversation: Conversation) -> Path:
        """Write it down; gives back the file. Raises NoSpace or SetupError."""
        path = self._folder / f"{conversation.id}.json"
        write_atomically(path, msgspec.json.format(msgspec.json.encode(conversation)))
        return path

    def last(self) -> Conversation | None:
        """The one that was spoken in last; None where there is none. Raises SetupError where its file is damaged."""
        files = sorted(self._folder.glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        if not files:
            return None
        try:
            return msgspec.json.decode(files[-1].read_bytes(), type=Conversation)
        except (msgspec.MsgspecError, OSError) as error:
            raise SetupError(f"the conversation {files[-1]} cannot be read: {error}", remedy="remove the file") from error


def write_markdown(conversation: Conversation, path: Path) -> None:
    """Write a conversation for people to read. Raises NoSpace or SetupError."""
    parts = [f"# {conversation.model}\n"]
    parts += [f"**{message.role}:** {message.content}\n" for message in conversation.messages]
    with disk_errors(path):
        path.write_text("\n".join(parts), encoding="utf-8")
