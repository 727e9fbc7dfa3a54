import pytest

from antiphon.execution.wire.answer_ids import CHAT, MESSAGE, answer_id


@pytest.mark.parametrize(
    ("prefix", "told", "wanted"),
    [
        (MESSAGE, "chatcmpl-abc", "msg_abc"),
        (MESSAGE, "msg_01", "msg_01"),
        (MESSAGE, "gen-7", "msg_gen-7"),
        (MESSAGE, "", "msg_req_1"),
        (CHAT, "msg_01", "chatcmpl-01"),
        (CHAT, "chatcmpl-abc", "chatcmpl-abc"),
        (CHAT, "", "chatcmpl-req_1"),
    ],
)
def test_an_id_looks_as_its_readers_know_it_and_keeps_what_the_server_told(prefix: str, told: str, wanted: str) -> None:
    assert answer_id(prefix, told, "req_1") == wanted
