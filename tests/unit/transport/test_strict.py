"""Targets and hosts that have one meaning."""

import pytest

from antiphon.transport.strict import one_reading


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"/", b"a"),
        (b"/x?y=/:@#"[:-1], b"a.example:8080"),
        (b"/", b""),
        (b"/", b"[::1]:80"),
        (b"/", b"a_b-c.d~"),
        (b"http://a", b"a"),
        (b"HTTP://A/x", b"a"),
        (b"http://a:80/x", b"a"),
        (b"http://a/x", b"a:80"),
        (b"https://a:443?x", b"a"),
        (b"http://[::1]:8080/", b"[::1]:8080"),
    ],
)
def test_one_meaning(target, host):
    assert one_reading(b"GET", target, "1.1", host)


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"/x#y", b"a"),
        (b"x", b"a"),
        (b"", b"a"),
        (b"*", b"a"),
        (b"//a/x", b"a,b"),
        (b"/", b"a/b"),
        (b"/", b"a:b"),
        (b"/", b"[::1"),
        (b"/", b"::1"),
        (b"/", b"a\nb"),
        (b"/", "\u00e4".encode()),
        (b"http://b/", b"a"),
        (b"http://a:443/", b"a"),
        (b"http://a#x", b"a"),
        (b"http://x@a/", b"a"),
        (b"http:///", b""),
        (b"ftp://a/", b"a"),
    ],
)
def test_more_than_one(target, host):
    assert not one_reading(b"GET", target, "1.1", host)


def test_no_host_belongs_to_http_1_0():
    assert one_reading(b"GET", b"/", "1.0", None)
    assert one_reading(b"GET", b"http://a/", "1.0", None)
    assert not one_reading(b"GET", b"/", "1.1", None)


def test_the_asterisk_belongs_to_options():
    assert one_reading(b"OPTIONS", b"*", "1.1", b"a")
    assert not one_reading(b"GET", b"*", "1.1", b"a")
