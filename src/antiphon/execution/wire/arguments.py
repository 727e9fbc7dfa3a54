"""The arguments of a call of a tool, gathered piece by piece: no piece costs more for those before it."""

import re
from typing import Final

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire.wrong_values import is_object

MAX_ARGUMENTS = 32 << 20
"""Characters that the arguments of one call may have; more is refused, so that a call without an end cannot fill the memory."""
_BLANK: Final = " \t\r\n"
_OUTSIDE: Final = re.compile(r'["{}\[\]]')
_INSIDE: Final = re.compile(r'["\\]')


class Arguments:
    """JSON text that comes in pieces."""

    __slots__ = ("_depth", "_escaped", "_over", "_quoted", "_size", "texts", "whole")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.whole = False
        """They are the JSON text of an object."""
        self._size = 0
        self._over = False  # the object has ended, or there never was one
        self._depth = 0
        self._quoted = False
        self._escaped = False

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self.texts)

    def add(self, text: str) -> None:
        """Another piece. Raises UpstreamBroken where they grow beyond ``MAX_ARGUMENTS``."""
        self._size += len(text)
        if self._size > MAX_ARGUMENTS:
            raise UpstreamBroken(f"the model's server sent arguments of a call of more than {MAX_ARGUMENTS >> 20} Mi characters")
        self.texts.append(text)
        if not self._over:
            self._scan(text)
        elif self.whole:
            self.whole = not text.strip(_BLANK)

    def _scan(self, text: str) -> None:
        at = int(self._escaped)
        if not self._depth:
            begin = text.lstrip(_BLANK)
            if not begin:
                return
            self._over = not begin.startswith("{")
        while not self._over and (found := (_INSIDE if self._quoted else _OUTSIDE).search(text, at)):
            at = found.end()
            self._see(found[0])
            at += found[0] == "\\"  # what is behind it means nothing
        self._escaped = at > len(text)

    def _see(self, mark: str) -> None:
        match mark:
            case '"':
                self._quoted = not self._quoted
            case "{" | "[":
                self._depth += 1
            case "}" | "]":
                self._depth -= 1
                if not self._depth:
                    self._over = True
                    self.whole = is_object(self.text)
