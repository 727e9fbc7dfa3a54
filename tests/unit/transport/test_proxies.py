"""Which proxy a server is reached through, and that nobody sees its password."""

import pytest

from antiphon.core.errors import ConfigError
from antiphon.transport.origin import Origin
from antiphon.transport.proxies import Proxy, from_environment

HTTPS = Origin("https", "api.models.example", 443)
HTTP = Origin("http", "api.models.example", 80)


@pytest.mark.parametrize(
    ("environ", "origin", "proxy"),
    [
        ({}, HTTPS, None),
        ({"HTTPS_PROXY": "http://p:3128"}, HTTPS, "http://p:3128"),
        ({"HTTPS_PROXY": "http://p:3128"}, HTTP, None),
        ({"HTTP_PROXY": "http://p:3128"}, HTTP, "http://p:3128"),
        ({"HTTPS_PROXY": "http://loud:1", "https_proxy": "http://quiet:1"}, HTTPS, "http://quiet:1"),
        ({"HTTPS_PROXY": "", "ALL_PROXY": "p:3128"}, HTTPS, "http://p:3128"),
        ({"all_proxy": "http://p:1", "https_proxy": "http://q:1"}, HTTPS, "http://q:1"),
        ({"HTTPS_PROXY": "http://[::1]:3128"}, HTTPS, "http://[::1]:3128"),
        ({"HTTPS_PROXY": "http://p"}, HTTPS, "http://p:80"),
    ],
)
def test_the_variables(environ: dict[str, str], origin: Origin, proxy: str | None) -> None:
    found = from_environment(environ, origin)
    assert (str(found) if found else None) == proxy


@pytest.mark.parametrize(
    ("rules", "host", "port", "excluded"),
    [
        ("*", "a.example", 443, True),
        ("a.example", "a.example", 443, True),
        ("a.example", "b.a.example", 443, True),
        ("a.example", "ba.example", 443, False),
        (".a.example", "b.a.example", 443, True),
        ("*.a.example", "b.a.example", 443, True),
        ("A.Example", "a.example", 443, True),
        ("x.example, a.example ,", "a.example", 443, True),
        ("a.example:8443", "a.example", 443, False),
        ("a.example:443", "a.example", 443, True),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("10.1.2.3", "10.1.2.3", 80, True),
        ("10.1.2.3:81", "10.1.2.3", 80, False),
        ("fd00::/8", "fd00::1", 80, True),
        ("fd00::1", "fd00::1", 80, True),
        ("[fd00::1]:80", "fd00::1", 80, True),
        ("nonsense/99", "10.1.2.3", 80, False),
        ("", "a.example", 443, False),
    ],
)
def test_no_proxy(rules: str, host: str, port: int, excluded: bool) -> None:
    environ = {"ALL_PROXY": "http://p:3128", "NO_PROXY": rules}
    assert (from_environment(environ, Origin("https", host, port)) is None) is excluded


@pytest.mark.parametrize(
    "origin", [Origin(host="localhost"), Origin(host="127.0.0.2"), Origin(host="::1"), Origin(socket_path="/x")]
)
def test_this_machine_is_never_reached_through_one(origin: Origin) -> None:
    assert from_environment({"ALL_PROXY": "http://p:3128"}, origin) is None


def test_a_kind_that_is_not_supported_is_not_passed_over() -> None:
    with pytest.raises(ConfigError, match="the environment variable ALL_PROXY names a proxy of the kind 'socks5'") as caught:
        from_environment({"ALL_PROXY": "socks5://me:s3cret@p:1080"}, HTTPS)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://me:s3cret@p:99999", "http://me:s3cret@:80", "http://me:s3cret@"])
def test_what_is_no_address_is_not_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match="the setting is not the address of a proxy") as caught:
        Proxy.parse(url, "the setting")
    assert "s3cret" not in str(caught.value)


def test_credentials_are_sent_and_not_shown() -> None:
    proxy = Proxy.parse("http://me:s3%40cret@p:3128", "the setting")
    assert proxy.header == b"proxy-authorization: Basic bWU6czNAY3JldA==\r\n"
    assert f"{proxy} {proxy!r} {[proxy]}" == "http://p:3128 Proxy('http://p:3128') [Proxy('http://p:3128')]"
