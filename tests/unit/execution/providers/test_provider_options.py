"""What of a provider's options must not be passed on."""

from antiphon.execution.providers import ProviderOptions
from antiphon.transport.client import Origin, Route
from antiphon.transport.proxies import Proxy


def options(*headers: tuple[bytes, bytes], proxy: Proxy | None = None) -> ProviderOptions:
    return ProviderOptions("p", Origin("https", "api.example", 443), headers=headers, route=Route(proxy=proxy))


def test_keys_and_header_values_in_every_spelling() -> None:
    secrets = options((b"authorization", b'Bearer sk/"1234'), (b"api-key", b"abcdefgh"), (b"x-flag", b"1")).secrets()
    assert set(secrets) == {b'sk/"1234', b'sk/\\"1234', b'sk\\/\\"1234', b"abcdefgh"}


def test_the_proxys_credentials() -> None:
    proxy = Proxy.parse("http://me:password1@proxy.example:3128", "test")
    assert set(options(proxy=proxy).secrets()) == {b"bWU6cGFzc3dvcmQx", b"password1"}


def test_nothing_where_there_is_nothing() -> None:
    assert options().secrets() == options(proxy=Proxy("proxy.example", 3128)).secrets() == ()


def test_they_are_not_shown() -> None:
    assert repr(options((b"authorization", b"Bearer sk-1234"))) == "ProviderOptions('p', https://api.example)"
