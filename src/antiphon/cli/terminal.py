"""Shows an answer as it comes."""

import sys
from collections.abc import Iterable

import msgspec

from antiphon.cli.chat_client import Piece, TokenCounts

_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Characters that would move the cursor or give the terminal orders; a model may write them, but not to a terminal."""


class Shown(msgspec.Struct):
    """What has been received of an answer, complete or not."""

    text: str = ""
    finish_reason: str = ""
    usage: TokenCounts | None = None

    def add(self, piece: Piece) -> None:
        """Take in a piece."""
        self.text += piece.text
        self.finish_reason = piece.finish_reason or self.finish_reason
        self.usage = piece.usage or self.usage


def show(pieces: Iterable[Piece], shown: Shown) -> None:
    """Write the pieces to standard output, each at once. ``shown`` holds what has come so far, even where this raises."""
    terminal = sys.stdout.isatty()
    try:
        for piece in pieces:
            shown.add(piece)
            sys.stdout.write(piece.text.translate(_CONTROL) if terminal else piece.text)
            sys.stdout.flush()
    finally:
        if shown.text and not shown.text.endswith("\n"):
            sys.stdout.write("\n")
            sys.stdout.flush()
