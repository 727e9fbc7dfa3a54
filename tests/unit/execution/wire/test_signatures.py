"""Signatures of thoughts reach the vendor that made them, and no other."""

import json
from typing import Any

import pytest

from antiphon.execution.wire.anthropic.foreign_thoughts import without_foreign_thoughts
from antiphon.execution.wire.signatures import for_call, marked, of_call, unmarked

OWN = {"type": "thinking", "thinking": "hm", "signature": "by Claude"}
FOREIGN = {"type": "thinking", "thinking": "hm", "signature": of_call(marked("c2ln", "gemini"))}
TEXT = {"type": "text", "text": '"signature":"antiphon:gemini:x"'}


def test_a_signature_is_given_back_to_its_own_vendor_alone() -> None:
    signature = marked("c2ln", "gemini")
    assert (unmarked(signature, "gemini"), unmarked(signature, "anthropic")) == ("c2ln", "")
    assert (unmarked("c2ln", "gemini"), unmarked("c2ln", "anthropic")) == ("", "c2ln")


def test_a_call_gets_its_signature_from_the_thought_before_it() -> None:
    signature = marked("c2ln", "gemini")
    assert for_call(of_call(signature)) == signature
    assert for_call(signature) == for_call("c2ln") == ""
    assert unmarked(of_call(signature), "gemini") == ""


def asked(*contents: Any) -> bytes:
    messages = [{"role": "user", "content": "?"}, *({"role": "assistant", "content": content} for content in contents)]
    return json.dumps({"model": "m", "messages": messages, "n": 1.50}, indent=1).encode()


def test_another_vendors_thoughts_are_taken_out_of_what_goes_to_anthropic() -> None:
    told = json.loads(without_foreign_thoughts(asked([OWN, FOREIGN, TEXT], "so", [FOREIGN])))
    assert told == json.loads(asked([OWN, TEXT], "so"))


@pytest.mark.parametrize(
    "body",
    [
        asked("so"),
        asked([OWN, TEXT]),
        b'{"messages":7,"x":"antiphon:gemini:x"}',
        b'{"messages":[7],"x":"antiphon:gemini:x"}',
        b'{"messages":[{"content":["antiphon:gemini:x"]}]}',
        b'{"x":"antiphon:gemini:x"}',
        b'["antiphon:gemini:x"',
    ],
    ids=range(7),
)
def test_what_has_none_keeps_its_bytes(body: bytes) -> None:
    assert without_foreign_thoughts(body) == body
