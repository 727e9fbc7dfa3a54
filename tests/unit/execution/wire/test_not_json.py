"""What callers read of bodies that are no JSON: what it is instead, and where."""

import gzip
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import AntiphonError, InvalidRequest
from antiphon.execution.wire.anthropic import request_reader as anthropic
from antiphon.execution.wire.not_json import _MOST_WALKED
from antiphon.execution.wire.ollama import request_reader as ollama
from antiphon.execution.wire.openai import request_reader as openai
from antiphon.execution.wire.reading import decode_request
from antiphon.execution.wire.responses import request_reader as responses

READERS = (
    openai.decode_request,
    anthropic.decode_request,
    responses.decode_request,
    ollama.decode_request,
    ollama.decode_generate_request,
)
decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def refused(body: bytes) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        decode_request(decode, body)
    return caught.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (gzip.compress(b"{}", mtime=0), "is compressed (gzip)"),
        (b"", "it is empty"),
        (b'{"a": [1', "it breaks off after 8 bytes"),
        ("{}".encode("utf-8-sig"), "begins with a byte order mark"),
        ("{}".encode("utf-16"), "begins with UTF-16"),
        (b'{"a": "caf\xe9"}', "is not UTF-8: 0xe9 at byte 10"),
        (b"{]", "is not valid JSON"),
    ],
)
def test_each_kind_is_named(body: bytes, words: str) -> None:
    assert words in refused(body).message
    assert refused(body).remedy


@pytest.mark.parametrize(
    "half", ["\\ud83d", "\\uDE00", "\\ud83d\\ud83d", "\\ud83d\\u0041", "\\\\\\ud83d", "\\ud83d\\n", "\\ud83dabcdefgh"]
)
@pytest.mark.parametrize("before", ["", "\\ud83d\\ude00", "\\\\ud83d "])
def test_half_a_character_is_named_with_its_field_and_its_byte(half: str, before: str) -> None:
    body = f'{{"a": 1, "messages": [{{"content": "fine"}}, {{"content": [{{"text": "{before}{half}"}}]}}]}}'.encode()
    error = refused(body)
    assert error.param == "messages[1].content[0].text"
    at = int(error.message.partition(" at byte ")[2].split()[0])
    assert body[at : at + 3].lower() == b"\\ud"
    assert "lone surrogate" in error.message


def test_one_in_the_name_of_a_field_and_one_in_a_huge_body_are_named_too() -> None:
    assert refused(b'{"a": {"\\ud83d": 1}}').param == "a"
    huge = refused(b'{"a": "%s", "b": "\\ud83d"}' % (b"x" * _MOST_WALKED))
    assert (huge.param, "at byte" in huge.message) == (None, True)


@given(st.sampled_from(READERS), st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\\ud83d", b"\\udc00x"]), st.integers(0, 30))
def test_bad_bytes_anywhere_are_the_callers_fault(reader, bad, at):
    words = {
        "model": "m",
        "max_tokens": 1,
        "prompt": "Q",
        "input": [{"role": "user", "content": "Q"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Q"}] if reader is anthropic.decode_request else "Q"},
        ],
        "tools": [
            {"type": "function", "name": "Q", "input_schema": {"Q": "Q"}, "function": {"name": "Q", "parameters": {"Q": "Q"}}}
        ],
        "options": {"stop": "Q", "mirostat": "Q"},
        "logit_bias": "Q",
        "unknown": {"Q": "Q"},
    }
    pieces = json.dumps(words).encode().split(b"Q")
    place = at % (len(pieces) - 1)
    body = b"Q".join(pieces[: place + 1]) + bad + b"Q".join(pieces[place + 1 :])
    with pytest.raises(AntiphonError):
        reader(body)
