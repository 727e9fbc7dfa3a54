"""The settings of TLS and proxies: files are found and checked before anything starts, passwords are shown nowhere."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization

from antiphon.config import ConfigErrors, load, load_with_origins, proxy_rules, redacted, tls_options
from antiphon.core.errors import ConfigError
from tests.integration.transport.certificates import Authority

NOBODY = 65534


def write(folder: Path, row: str = "", server: str = "", url: str = "https://api.example/v1") -> Path:
    file = folder / "antiphon.yaml"
    file.write_text(f'models: []\nserver: {{{server}}}\nproviders:\n  - {{name: acme, url: "{url}", models: [m], {row}}}\n')
    return file


def test_paths_start_from_the_files_folder(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("a.example")
    file = write(tmp_path, "ca_file: authority.pem", f"tls_cert: {cert.name}, tls_key: {key.name}")
    settings = load(file, {})
    assert settings.providers[0].ca_file == str(authority.file)
    assert tls_options(settings.providers[0]).ca_file == str(authority.file)
    assert (settings.server.tls_cert, settings.server.tls_key) == (str(cert), str(key))


@pytest.mark.parametrize(
    ("row", "server", "message"),
    [
        ("ca_file: gone.pem", "", r"antiphon\.yaml:4:.*providers\[0\]\.ca_file: .*gone\.pem cannot be used: No such file"),
        ("client_cert: gone.pem", "", r"antiphon\.yaml:4:.*client_cert: the file .*gone\.pem cannot be read: No such file"),
        ("", "tls_cert: gone.crt, tls_key: gone.key", r"antiphon\.yaml:2:.*server\.tls_cert: the file .*gone\.crt cannot be read"),
        ("", "tls_cert: a.crt", r"antiphon\.yaml:2:.*server\.tls_cert is set and server\.tls_key is not; set both"),
        ("", "tls_key: a.key", r"antiphon\.yaml:2:.*server\.tls_key is set and server\.tls_cert is not"),
        ("client_key: a.key", "", r"has client_key and no client_cert"),
        ("proxy: socks5://p:1080", "", r"must be \"environment\", \"none\" or the URL of an HTTP proxy .*, not this value"),
        ('proxy: "http://me:s3cret@p:99999"', "", r"providers\[0\]\.proxy is not the address of a proxy"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, row: str, server: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load(write(tmp_path, row, server), {})
    assert not isinstance(caught.value, ConfigErrors)


def test_files_and_conflicts_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, "ca_file: gone.pem, verify: false", "tls_cert: gone.crt"), {})
    told = [error.message for error in caught.value.errors]
    assert len(told) == 3
    assert "server.tls_key is not" in told[0]
    assert any("gone.pem cannot be used" in message for message in told)
    assert any("has a ca_file that is not used" in message for message in told)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (
            "proxy_protocol: v1",
            r"antiphon\.yaml:2:.*proxy_protocol is set and server\.trusted_proxies is not: nobody could connect",
        ),
        (
            "trusted_proxies: [10.0.0.0/8]",
            r"antiphon\.yaml:2:.*server\.trusted_proxies is of no use without server\.proxy_protocol",
        ),
        ("proxy_protocol: v3, trusted_proxies: ['::1']", r'proxy_protocol must be "none", "v1", "v2" or "both"'),
        (
            "proxy_protocol: v2, trusted_proxies: ['10.0.0.0/99']",
            r"trusted_proxies\[0\] is no address and no network: 10\.0\.0\.0/99",
        ),
        ("proxy_protocol: v2, trusted_proxies: ['::1', '1:2:3']", r"trusted_proxies\[1\] is no address and no network"),
        ("proxy_protocol: v2, trusted_proxies: [lb.example]", r"trusted_proxies\[0\] must be an address or a network"),
    ],
)
def test_a_proxy_protocol_that_cannot_work_is_refused(tmp_path: Path, server: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(write(tmp_path, server=server), {})


def test_proxies_are_trusted_as_the_settings_say(tmp_path: Path) -> None:
    server = load(write(tmp_path, server="proxy_protocol: both, trusted_proxies: ['10.0.0.0/8', '::1', 192.0.2.9/24]"), {}).server
    rules = proxy_rules(server)
    assert rules is not None
    assert rules.versions == {1, 2}
    assert [rules.trusts(host) for host in ("10.9.9.9", "::1", "192.0.2.77", "127.0.0.1")] == [True, True, True, False]
    assert proxy_rules(msgspec.structs.replace(server, proxy_protocol="none")) is None


def test_a_proxy_of_the_environment_that_cannot_be_used_is_told_before_the_start(tmp_path: Path) -> None:
    environ = {"HTTPS_PROXY": "socks5://me:s3cret@proxy.example:1080"}
    with pytest.raises(
        ConfigError, match=r"antiphon\.yaml:4:.*proxy is \"environment\", and .*HTTPS_PROXY names .*socks5"
    ) as caught:
        load(write(tmp_path), environ)
    assert "proxy: none" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    load(write(tmp_path, "proxy: none"), environ)
    load(write(tmp_path), environ | {"NO_PROXY": "api.example"})
    load(write(tmp_path), environ, secrets=False)


def test_tls_settings_of_a_plain_url_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"providers\[0\]\.verify is about TLS, and the url begins with http"):
        load(write(tmp_path, "verify: false", url="http://127.0.0.1/v1"), {})


def test_files_are_left_alone_by_who_does_not_need_secrets(tmp_path: Path) -> None:
    assert load(write(tmp_path, "ca_file: gone.pem"), {}, secrets=False).providers[0].ca_file == str(tmp_path / "gone.pem")


def test_a_certificate_that_is_not_checked_is_warned_of(tmp_path: Path) -> None:
    warnings = load_with_origins(write(tmp_path, "verify: false"), {}).warnings
    assert any("the certificate of provider acme is not checked" in warning for warning in warnings)


def test_a_proxys_password_is_not_shown(tmp_path: Path) -> None:
    settings = load(write(tmp_path, 'proxy: "${PROXY}"'), {"PROXY": "http://me:s3cret@proxy.example:3128"})
    assert settings.providers[0].proxy == "http://me:s3cret@proxy.example:3128"
    shown = json.dumps(redacted(settings))
    assert '"http://***@proxy.example:3128"' in shown
    assert "s3cret" not in shown + repr(settings) + str(settings)
    assert "me:" not in repr(settings)


def test_an_encrypted_key_is_refused_and_nobody_asked_for_its_password(tmp_path: Path) -> None:
    cert, key = Authority(tmp_path).issue("a.example")
    text = key.read_text()
    loaded = serialization.load_pem_private_key(text.encode(), None)
    encryption = serialization.BestAvailableEncryption(b"word")
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    key.write_bytes(loaded.private_bytes(*form, encryption))
    with pytest.raises(ConfigError, match="the key without a passphrase"):
        load(write(tmp_path, server=f"tls_cert: {cert}, tls_key: {key}"), {})


@pytest.fixture
def own_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of somebody who is not root, as whom the test runs: root may read everything."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory() as folder:  # pytest's folders are for their owner alone
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)


def test_a_key_that_may_not_be_read(own_folder: Path) -> None:
    cert, key = Authority(own_folder).issue("a.example")
    key.chmod(0)
    with pytest.raises(ConfigError, match=r"server\.tls_key: the file .* cannot be read: Permission denied"):
        load(write(own_folder, server=f"tls_cert: {cert}, tls_key: {key}"), {})
