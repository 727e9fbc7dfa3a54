"""Tokens of requests that no model has counted yet."""

import base64
import json
import os

import pytest

from antiphon.governance.estimate import FILE_TOKENS, OVERHEAD, prompt_tokens

PICTURE = base64.b64encode(os.urandom(30_000)).decode()


def body(content: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]}).encode()


def test_a_text_has_a_token_in_four_bytes_and_none_more_than_bytes() -> None:
    text = body("hello " * 100)
    assert prompt_tokens(text) == (len(text) // 4 + 1, len(text) + OVERHEAD)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"type": "image", "source": {"data": PICTURE, "media_type": "image/png", "type": "base64"}},
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_picture_counts_as_a_picture_however_many_bytes_it_has(part: object, count: int) -> None:
    text = body([{"type": "text", "text": "what is this?"}, *[part] * count])
    tokens, at_most = prompt_tokens(text)
    assert count * FILE_TOKENS < tokens < count * FILE_TOKENS + 200
    assert at_most < 3 * count * FILE_TOKENS + 1000


def test_the_pictures_of_a_list_are_counted() -> None:
    message = {"role": "user", "content": "what are these?", "images": [PICTURE] * 3}
    text = json.dumps({"model": "m", "messages": [message]}).encode()
    assert 3 * FILE_TOKENS < prompt_tokens(text, lists_pictures=True)[0] < 3 * FILE_TOKENS + 200
    assert prompt_tokens(text)[0] > len(text) // 4  # elsewhere a list of texts is a list of texts


@pytest.mark.parametrize("text", ["ACGTTGCA" * 50_000, "x" * 8_000_000])
@pytest.mark.parametrize("name", ["text", "content", "input", "prompt", "datas"])
def test_no_text_passes_for_a_file(text: str, name: str) -> None:
    whole = json.dumps({"model": "m", "messages": [{"role": "user", name: text}]}).encode()
    assert prompt_tokens(whole, lists_pictures=True) == (len(whole) // 4 + 1, len(whole) + OVERHEAD)


def test_a_picture_that_is_named_by_its_address_counts_as_one() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    tokens, at_most = prompt_tokens(body([part] * 4))
    assert 4 * FILE_TOKENS < tokens < 4 * FILE_TOKENS + 200
    assert at_most >= 4 * FILE_TOKENS + len(body([part] * 4))


@pytest.mark.parametrize(
    "text",
    ["base64", ";base64,", ";base64," + "x" * 5000, '"data": base64 "data"', "base64 " * 3000, '"data": "' + "a word " * 900],
)
def test_words_about_base64_are_words(text: str) -> None:
    tokens, at_most = prompt_tokens(body(text))
    assert tokens == len(body(text)) // 4 + 1
    assert at_most == len(body(text)) + OVERHEAD


def test_a_body_that_ends_in_the_middle_is_counted_all_the_same() -> None:
    whole = body([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}])
    for end in range(len(whole) - 200, len(whole)):
        assert prompt_tokens(whole[:end])[0] > FILE_TOKENS
