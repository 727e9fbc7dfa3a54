import pytest

from antiphon.cli.chat_client import ChatClient, ChatRequest, Message
from antiphon.core.errors import UpstreamBroken
from antiphon.testing import Body, Done, Event, MockUpstream

NOTHING = {"choices": []}


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_without_a_choice_is_an_error(stream):
    with MockUpstream() as upstream:
        upstream.script(*((Event(NOTHING), Done()) if stream else (Body(NOTHING),)))
        request = ChatRequest("m", (Message("user", "hi"),), stream=stream)
        with pytest.raises(UpstreamBroken, match="holds no choice"):
            list(ChatClient(upstream.url).answer(request))
