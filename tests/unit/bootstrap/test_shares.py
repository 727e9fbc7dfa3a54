import pytest

from antiphon.bootstrap.shares import Share, decode_share, encode_share
from antiphon.core.errors import InternalError


def test_a_share_travels_as_one_line_that_no_other_message_looks_like():
    share = Share(3, (7, 8, 9), (9,))
    line = encode_share(share)
    assert line.count(b"\n") == 1
    assert decode_share(line.rstrip()) == share
    assert decode_share(b'{"epoch": 3}') is None


def test_a_broken_share_is_refused():
    with pytest.raises(InternalError, match="share of the public sockets"):
        decode_share(b'share {"number": "x"}')
