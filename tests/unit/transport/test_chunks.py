"""The sizes of chunks, found in reads of every cut."""

import pytest

from antiphon.transport.chunks import Chunks


class Body:
    """Reads as the parser sees them: says what of each is the body's, and where chunks begin and end."""

    def __init__(self) -> None:
        self.chunks = Chunks()
        self.size = 0

    def read(self, data: bytes, *inside: tuple[int, bool]) -> int:
        """``inside``: for each size line in ``data`` the bytes of its chunk that are here, and whether the chunk is over."""
        for length, over in inside:
            self.chunks.begin(self.size)
            self.size += length
            if over:
                self.chunks.end()
        return self.chunks.announced(data, self.size)


@pytest.mark.parametrize("line", [b"fffff\r\n", b"FFFFF;a=b\r\n", b"0fffff \r\n", b"fffff;" + b"x" * 500 + b"\r\n"])
@pytest.mark.parametrize("inside", [b"", b"abc", b"a\r\n5\r\n"])
def test_the_size_is_told_wherever_the_line_was_cut(line: bytes, inside: bytes) -> None:
    head = b"x: y\r\n\r\n"
    for cut in range(len(line) + len(inside)):
        body = Body()
        first = head + (line + inside)[:cut]
        if cut < len(line):
            assert body.read(first) == 0
            assert body.read((line + inside)[cut:], (len(inside), False)) == 0xFFFFF
        else:
            assert body.read(first, (cut - len(line), False)) == 0xFFFFF
            body.size += len(inside) - (cut - len(line))
            assert body.read((line + inside)[cut:]) == 0


def test_chunks_that_are_over_tell_nothing() -> None:
    body = Body()
    assert body.read(b"x: y\r\n\r\n3\r\nabc\r\n", (3, True)) == 0
    assert body.read(b"4\r\nabcd\r\n2\r\na", (4, True), (1, False)) == 2
    body.size += 1
    assert body.read(b"b\r") == 0
    assert body.read(b"\n7") == 0
    assert body.read(b"0\r\n", (0, False)) == 0x70


def test_what_is_no_size_tells_nothing() -> None:
    assert Body().read(b"\r\n;x\r\n", (0, False)) == 0
