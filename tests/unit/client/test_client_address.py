import pytest

from antiphon_client import Client, ConfigurationError
from antiphon_client.address import Address, Secret, given_or_named, key


@pytest.mark.parametrize(
    ("url", "shown", "root", "authority"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "", "127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080", "", "127.0.0.1:8080"),
        ("llm.example.com", "http://llm.example.com", "", "llm.example.com"),
        ("https://llm.example.com:443/v1", "https://llm.example.com", "", "llm.example.com"),
        ("https://example.com/ai/v1", "https://example.com/ai", "/ai", "example.com"),
        ("http://[::1]:9000", "http://[::1]:9000", "", "[::1]:9000"),
        ("https://bücher.example", "https://xn--bcher-kva.example", "", "xn--bcher-kva.example"),
        ("unix:/run/antiphon.sock", "unix:/run/antiphon.sock", "", "localhost"),
        ("unix:///run/antiphon.sock", "unix:/run/antiphon.sock", "", "localhost"),
    ],
)
def test_a_url_is_read(url: str, shown: str, root: str, authority: str) -> None:
    address = Address.parse(url)
    assert (str(address), address.root, address.authority) == (shown, root, authority)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://[::1",
        "http://a b",
        "http://h/v1?x=1",
        "unix:a",
    ],
)
def test_what_is_no_url_is_refused_with_a_remedy(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not the URL of a server") as told:
        Address.parse(url)
    assert told.value.remedy
    assert told.value.param == "base_url"


def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    for url in ("http://user:hunter22@host", "http://user:hunter22@host:99999"):
        with pytest.raises(ConfigurationError) as told:
            Address.parse(url)
        assert "hunter22" not in f"{told.value} {told.value!r}"


def test_the_environment_names_what_is_not_given() -> None:
    environ = {"ANTIPHON_BASE_URL": "http://one:1", "ANTIPHON_URL": "http://two:2", "ANTIPHON_API_KEY": "sk-environment"}
    assert str(given_or_named("http://three:3", environ)) == "http://three:3"
    assert str(given_or_named(None, environ)) == "http://one:1"
    assert str(given_or_named(None, {"ANTIPHON_URL": "http://two:2"})) == "http://two:2"
    assert str(given_or_named(None, {})) == "http://127.0.0.1:8080"
    assert key(None, environ).reveal() == "sk-environment"
    assert key("sk-given", environ).reveal() == "sk-given"
    assert not key("", environ)


@pytest.mark.parametrize("text", ["sk with blanks", "sk-broken\nline", "sk-schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        key(text, {})
    assert text not in str(told.value)
    assert told.value.remedy


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret("sk-never-to-be-seen")
    assert "sk-never" not in f"{secret} {secret!r} {[secret]}"
    assert secret.redact("wrong key sk-never-to-be-seen!") == "wrong key ***!"
    assert Secret("none").redact("there is none") == "there is none"


def test_a_client_shows_its_server_and_no_key() -> None:
    with Client("https://llm.example.com/v1", "sk-never-to-be-seen") as client:
        assert repr(client) == "Client('https://llm.example.com')"
