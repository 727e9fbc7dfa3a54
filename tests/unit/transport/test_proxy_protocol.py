import ipaddress

import pytest

from antiphon.transport.proxy_protocol import MalformedHeaderError, ProxyHeader, ProxyRules
from tests.fuzz.proxy_headers import BAD, HEADERS, IPV4, binary, play

AFTER = b"GET / HTTP/1.1\r\n\r\n"
LINE = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_is_read_however_it_is_cut_and_nothing_behind_it_is_taken(header: bytes) -> None:
    for at in range(len(header) + 1):
        outcome = play([header[:at], header[at:] + AFTER])
        assert outcome.complete
        assert outcome.size == len(header)
        assert ipaddress.ip_address(outcome.client or "::") == ipaddress.ip_address(HEADERS[header] or "::")
    assert play([bytes((byte,)) for byte in header]).complete


@pytest.mark.parametrize("data", BAD)
def test_what_is_no_header_is_refused_however_it_is_cut(data: bytes) -> None:
    for at in range(len(data)):
        with pytest.raises(MalformedHeaderError):
            play([data[:at], data[at:]])


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_that_is_cut_short_is_waited_for(header: bytes) -> None:
    assert not any(play([header[:at]]).complete for at in range(len(header)))


def test_only_the_versions_asked_for_are_taken() -> None:
    assert play([LINE], frozenset((1,))).complete
    assert play([binary(0x21, 0x11, IPV4)], frozenset((2,))).complete
    with pytest.raises(MalformedHeaderError, match="version"):
        play([LINE], frozenset((2,)))
    with pytest.raises(MalformedHeaderError, match="version"):
        play([binary(0x21, 0x11, IPV4)], frozenset((1,)))


def test_what_follows_is_refused_early_where_it_cannot_become_a_header() -> None:
    with pytest.raises(MalformedHeaderError):
        ProxyHeader(frozenset((1, 2))).take(b"PX")


@pytest.mark.parametrize(
    ("host", "trusted"),
    [("10.1.2.3", True), ("11.1.2.3", False), ("192.0.2.7", True), ("192.0.2.8", False), ("fe80::1%eth0", True), ("::1", False)],
)
def test_proxies_are_trusted_by_their_networks(host: str, trusted: bool) -> None:
    networks = [ipaddress.ip_network(network) for network in ("10.0.0.0/8", "192.0.2.7", "fe80::/10")]
    assert ProxyRules(frozenset((1,)), networks).trusts(host) is trusted
