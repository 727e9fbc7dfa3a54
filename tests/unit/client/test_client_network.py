import ssl
from pathlib import Path
from typing import Any

import pytest

from antiphon_client import Client, ConfigurationError, Network
from antiphon_client.address import Address
from antiphon_client.network import route

PROXIES = {
    "HTTPS_PROXY": "http://proxy:3128",
    "http_proxy": "http://user:pass-word@plain:80",
    "NO_PROXY": "inside.example, .corp:8443",
}


def proxy_of(url: str, environ: dict[str, str], network: Network | None = None) -> str:
    found = route(Address.parse(url), network or Network(), environ).proxy
    return "" if found is None else f"{found.url.host.decode()}:{found.url.port}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://llm.example.com", "proxy:3128"),
        ("http://llm.example.com", "plain:80"),
        ("http://127.0.0.1:8080", ""),
        ("http://localhost:8080", ""),
        ("http://[::1]:8080", ""),
        ("https://inside.example", ""),
        ("https://a.inside.example", ""),
        ("https://notinside.example", "proxy:3128"),
        ("https://a.corp:8443", ""),
        ("https://a.corp", "proxy:3128"),
        ("unix:/run/antiphon.sock", ""),
    ],
)
def test_the_environment_names_proxies_but_not_for_this_machine(url: str, expected: str) -> None:
    assert proxy_of(url, PROXIES) == expected


def test_other_ways_to_name_a_proxy_or_none() -> None:
    assert proxy_of("https://a.example", {"ALL_PROXY": "proxy"}) == "proxy:80"
    assert proxy_of("https://a.example", {"HTTPS_PROXY": "http://big:1", "https_proxy": "http://small:2"}) == "small:2"
    assert proxy_of("https://a.example", {**PROXIES, "NO_PROXY": "*"}) == ""
    assert proxy_of("https://a.example", PROXIES, Network(proxy="")) == ""
    assert proxy_of("http://127.0.0.1:1", {}, Network(proxy="http://given:8")) == "given:8"


@pytest.mark.parametrize(
    "proxy", ["ftp://user:pass-word@host", "http://user:pass-word@", "http://user:pass-word@host:port", "http://user:pass-word@ü"]
)
def test_what_is_no_proxy_is_refused_without_its_password(proxy: str) -> None:
    network = Network(proxy=proxy)
    with pytest.raises(ConfigurationError) as told:
        route(Address.parse("https://a.example"), network, {})
    assert "pass-word" not in f"{told.value} {told.value!r} {network}"


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    for network, param in (
        (Network(ca_file=nothing), "ca_file"),
        (Network(ca_file=wrong), "ca_file"),
        (Network(client_cert=wrong), "client_cert"),
    ):
        with pytest.raises(ConfigurationError, match=r"(nothing|wrong)\.pem") as told:
            Client("https://a.example", network=network)
        assert told.value.param == param
        assert told.value.remedy


@pytest.mark.parametrize("wrong", [{"connect_timeout": 0.0}, {"max_connections": 0}, {"keep_alive": -1.0}])
def test_numbers_that_cannot_be_used_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as told:
        route(Address.parse("http://a.example"), Network(**wrong), {})
    assert told.value.param in wrong
    assert told.value.remedy


def test_a_context_of_the_callers_own_is_taken() -> None:
    context = ssl.create_default_context()
    assert route(Address.parse("https://a.example"), Network(tls=context), {}).tls is context
    assert route(Address.parse("http://a.example"), Network(tls=context), {}).tls is None
