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
_PLACE: Final = re.compile(rb'"(?:url|data|file_data|image_url)"\s*:\s*"(?:data:[\w.+/-]{1,100};base64,)?\Z')
_LISTED: Final = re.compile(rb'(?:"images"\s*:\s*\[|,)\s*"\Z')
_NEAR: Final = 160
_PICTURE: Final = b'"image'
"""How fields and types of pictures begin in every dialect: ``image``, ``image_url``, ``images``."""


def prompt_tokens(body: bytes, *, lists_pictures: bool = False) -> tuple[int, int]:
    """About as many tokens as the prompt of a request has, and as many as it has at most: no tokenizer makes two of one byte.

    A file counts for itself only where the dialects have files, so that no text passes for one: in fields of that name, and in
    lists where ``lists_pictures``. A picture that is named by its address counts as one, too.
    """
    text, files = _parts(body, lists_pictures=lists_pictures)
    named = body.count(_PICTURE)
    usual, most = max(files, (named + 1) // 2), files + named  # most dialects say it twice, as a type and as a field
    return text // BYTES_PER_TOKEN + usual * FILE_TOKENS + 1, text + most * FILE_TOKENS + OVERHEAD


def form_tokens() -> tuple[int, int]:
    """The same for a form, which carries a file."""
    return FILE_TOKENS, FILE_TOKENS + OVERHEAD


def _parts(body: bytes, *, lists_pictures: bool) -> tuple[int, int]:
    """Bytes of text, and the number of files inside, which are strings of JSON in Base64."""
    size = len(body)
    text, files, at = size, 0, _STRIDE
    while at < size:
        if _LOOKS_ENCODED.match(body, at):
            begin = body.rfind(b'"', 0, at) + 1
            end = body.find(b'"', at)
            if end < 0:
                end = size
            if end - begin >= _SHORTEST and _is_file(body, begin, end, lists_pictures=lists_pictures):
                text -= end - begin
                files += 1
            at = max(end, at)
        at += _STRIDE
    return text, files


def _is_file(body: bytes, begin: int, end: int, *, lists_pictures: bool) -> bool:
    if body.find(b" ", begin, end) >= 0:
        return False
    before = body[max(0, begin - _NEAR) : begin]
    if _PLACE.search(before):
        return True
    return lists_pictures and _LISTED.search(before) is not None
