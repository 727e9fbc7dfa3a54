"""``antiphon serve`` over HTTPS, in front of a server over HTTPS: from the caller's certificate check to a renewed certificate."""

import signal
import socket
import ssl
import subprocess
from pathlib import Path

from antiphon.testing import MockUpstream
from tests.acceptance.command_line import CommandLine
from tests.acceptance.served import Server
from tests.integration.transport.certificates import Authority

CONFIG = """\
server: {{port: 0, grace: 2, tls_cert: own.crt, tls_key: own.key}}
providers:
  - {{name: mock, url: "{url}", models: [mock-model], ca_file: authority.pem}}
"""


def renew(authority: Authority, folder: Path) -> None:
    cert, key = authority.issue("127.0.0.1")
    (folder / "own.crt").write_bytes(cert.read_bytes())
    (folder / "own.key").write_bytes(key.read_bytes())


def serial(authority: Authority, port: int) -> str:
    trust = ssl.create_default_context(cafile=str(authority.file))
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as peer,
    ):
        shown = peer.getpeercert()
        assert shown is not None
        return str(shown["serialNumber"])


def test_https_on_both_sides_and_a_certificate_renewed_by_reload(tmp_path: Path) -> None:
    cli, authority = CommandLine(tmp_path), Authority(tmp_path)
    renew(authority, tmp_path)
    config = tmp_path / "antiphon.yaml"
    with MockUpstream(tls=authority.server("127.0.0.1")) as upstream:
        config.write_text(CONFIG.format(url=upstream.url))
        with cli.start(["serve", "--no-local"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                server = Server(process)
                port = int(server.wait_said(r"serving mock-model on https://127\.0\.0\.1:(\d+)/v1")[1])
                called = {"ANTIPHON_URL": f"https://127.0.0.1:{port}", "SSL_CERT_FILE": str(authority.file)}
                upstream.chat("Hello")
                assert cli.run("chat", "Hi", **called).out == "Hello\n"
                untrusted = cli.run("chat", "Hi", "--url", called["ANTIPHON_URL"], code=1).err
                assert "signed by an authority that is not trusted here" in untrusted
                assert "SSL_CERT_FILE" in untrusted
                plain = cli.run("chat", "Hi", "--url", f"http://127.0.0.1:{port}", code=1).err
                assert f"write its URL with https: https://127.0.0.1:{port}" in plain
                assert "SSL_CERT_FILE" in cli.run("doctor", "--url", called["ANTIPHON_URL"], code=1).out

                first = serial(authority, port)
                (tmp_path / "own.key").write_text("broken")
                process.send_signal(signal.SIGHUP)
                assert "server.tls_cert" in server.wait_said(r"the settings stay as they are: .*")[0]
                assert serial(authority, port) == first
                renew(authority, tmp_path)
                process.send_signal(signal.SIGHUP)
                server.wait_said("the new settings are in effect")
                assert serial(authority, port) != first
                assert server.end() == 0
            finally:
                process.kill()


def test_a_certificate_that_cannot_be_read_is_told_before_anything_starts(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    (tmp_path / "antiphon.yaml").write_text(CONFIG.format(url="https://127.0.0.1:1/v1").replace(", ca_file: authority.pem", ""))
    shown = cli.run("serve", "--no-local", code=2).err
    assert "antiphon.yaml:1" in shown
    assert "own.crt cannot be read: No such file or directory" in shown
