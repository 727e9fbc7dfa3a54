"""How many tokens a request may have, before a model has counted them."""

import re
from typing import Final

BYTES_PER_TOKEN: Final = 4
"""Of a request's body, roughly, in any language: English has more bytes to a token, Chinese and code have fewer."""
FILE_TOKENS: Final = 2048
"""What a picture, a sound or a file inside a request is taken to have."""
OVERHEAD: Final = 64
"""Tokens that a server's template may add to a prompt."""
_SHORTEST: Final = 16_384
"""Bytes from which on a text in Base64 is taken for a file: a shorter one counts about as many tokens as a text."""
_STRIDE: Final = 4096
"""Bytes between two looks whether a file is there: one every so often finds each of them, and costs next to nothing."""
_LOOKS_ENCODED: Final = re.compile(rb"[A-Za-z0-9+/_-]{64}")


def prompt_tokens(body: bytes) -> tuple[int, int]:
    """About as many tokens as the prompt of a request has, and as many as it has at most: no tokenizer makes two of one byte."""
    text, files = _parts(body)
    of_files = files * FILE_TOKENS
    return text // BYTES_PER_TOKEN + of_files + 1, text + of_files + OVERHEAD


def _parts(body: bytes) -> tuple[int, int]:
    """Bytes of text, and the number of files inside, which are strings of JSON in Base64."""
    size = len(body)
    text, files, at = size, 0, _STRIDE
    while at < size:
        if _LOOKS_ENCODED.match(body, at):
            begin = body.rfind(b'"', 0, at) + 1
            end = body.find(b'"', at)
            if end < 0:
                end = size
            if end - begin >= _SHORTEST and body.find(b" ", begin, end) < 0:
                text -= end - begin
                files += 1
            at = max(end, at)
        at += _STRIDE
    return text, files
