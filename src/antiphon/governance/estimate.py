"""How many tokens a request may have, before a model has counted them."""

import re
from typing import Final

BYTES_PER_TOKEN: Final = 4
"""Of a request's body, roughly, in any language: English has more bytes to a token, Chinese and code have fewer."""
PICTURE_TOKENS: Final = 2048
"""What a picture, a sound or a file inside a request is taken to have."""
OVERHEAD: Final = 64
"""Tokens that a server's template may add to a prompt."""
_SHORT: Final = 4096
"""Bytes below which nothing inside a request is taken for a file."""
_LOOKS_ENCODED: Final = re.compile(rb"[A-Za-z0-9+/_-]{256}")
_MARKS: Final = ((b";base64,", b"", b'"'), (b'"data"', b'"', b'"'), (b'"images"', b'"', b"]"))
"""What files stand behind: how it begins, what comes before their first byte, and what behind their last."""


def prompt_tokens(body: bytes) -> int:
    """About as many tokens as the prompt of a request has."""
    text, files = _parts(body)
    return text // BYTES_PER_TOKEN + files * PICTURE_TOKENS + 1


def prompt_tokens_at_most(body: bytes) -> int:
    """Tokens that the prompt of a request has at most: no tokenizer makes more than one of a byte."""
    text, files = _parts(body)
    return text + files * PICTURE_TOKENS + OVERHEAD


def _parts(body: bytes) -> tuple[int, int]:
    """Bytes of text, and the number of files inside, which are written in Base64."""
    text, files = len(body), 0
    if text < _SHORT:
        return text, files
    for mark, opening, closing in _MARKS:
        at = body.find(mark)
        while at >= 0:
            begin = at + len(mark)
            if opening:
                begin = body.find(opening, begin) + 1
            end = body.find(closing, begin) if begin else -1
            if end < 0:
                break
            if end - begin >= _SHORT and _LOOKS_ENCODED.match(body, begin):
                text -= end - begin
                files += max(1, (body.count(b'"', begin, end) + 1) // 2)  # a list has two quotation marks for each but the first
            at = body.find(mark, end)
    return text, files
