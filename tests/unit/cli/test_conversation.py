import os

import pytest

from antiphon.cli.chat_client import Message
from antiphon.cli.conversation import Conversations, begin, write_markdown
from antiphon.core.errors import SetupError


def test_there_is_none_at_first(tmp_path):
    assert Conversations(tmp_path).last() is None


def test_the_last_is_the_one_that_was_spoken_in_last(tmp_path):
    conversations = Conversations(tmp_path)
    old, new = begin("a"), begin("b")
    for time, conversation in ((1, old), (2, new), (3, old)):
        conversation.messages.append(Message("user", f"at {time}"))
        os.utime(conversations.save(conversation), (time, time))
    assert conversations.last() == old
    assert old.turns == 2


def test_the_system_prompt_comes_first_and_is_no_question(tmp_path):
    conversation = begin("a", "be kind")
    assert conversation.messages == [Message("system", "be kind")]
    assert conversation.turns == 0


def test_a_damaged_file_is_named(tmp_path):
    path = Conversations(tmp_path).save(begin("a"))
    path.write_text("{")
    with pytest.raises(SetupError, match=path.name):
        Conversations(tmp_path).last()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(SetupError, match="nowhere"):
        write_markdown(begin("a"), tmp_path / "nowhere" / "talk.md")
