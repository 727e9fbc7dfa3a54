"""What a user reads when the server of a chat cannot be talked to."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from antiphon.cli import chat_client
from antiphon.cli.chat_client import ChatClient, ChatRequest, Message
from antiphon.core.errors import AntiphonError, ConfigError, UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from tests.integration.transport.certificates import Authority


@contextlib.contextmanager
def listening(context: ssl.SSLContext | None = None, *, answer: bytes | None = None) -> Iterator[int]:
    """A server on a port of its own: it shakes hands and says ``answer``, or nothing at all where that is None."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    peer, _ = server.accept()
                    with context.wrap_socket(peer, server_side=True) if context else peer as said:
                        if answer is None:
                            over.wait(20)
                        else:
                            said.recv(65536)
                            said.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            with contextlib.suppress(OSError), socket.create_connection(server.getsockname(), 1):
                pass
            thread.join(10)


def failure(url: str) -> AntiphonError:
    with pytest.raises(AntiphonError) as caught:
        ChatClient(url).models()
    return caught.value


@pytest.mark.parametrize(
    ("names", "expires", "words", "remedy"),
    [
        (["127.0.0.1"], timedelta(days=1), "signed by an authority that is not trusted here", "SSL_CERT_FILE"),
        (["127.0.0.1"], timedelta(days=-1), "has expired", "renew the certificate"),
        (["other.example"], timedelta(days=1), "is for another address", "by the name that its certificate is for"),
    ],
    ids=["unknown authority", "expired", "another name"],
)
def test_a_certificate_that_does_not_hold_is_no_server_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], expires: timedelta, words: str, remedy: str
) -> None:
    authority = Authority(tmp_path)
    if "authority" not in words:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with listening(authority.server(*names, expires=expires)) as port:
        error = failure(f"https://127.0.0.1:{port}")
    assert isinstance(error, UpstreamUnreachable)
    assert words in error.message
    assert remedy in error.remedy
    assert "no server answers" not in str(error)


def test_https_where_only_http_is_spoken_and_the_other_way_round(tmp_path: Path) -> None:
    with listening(answer=b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as port:
        error = failure(f"https://127.0.0.1:{port}")
    assert "does not speak TLS" in error.message
    assert "http" in error.remedy
    with listening(answer=b"") as port:
        error = failure(f"http://127.0.0.1:{port}")
    assert isinstance(error, UpstreamBroken)
    assert "https" in error.remedy


def test_a_server_that_is_stopped_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_client, "PATIENCE", 0.1)
    with listening() as port:
        error = failure(f"http://127.0.0.1:{port}")
        with pytest.raises(UpstreamTimeout, match=r"silent for 0\.2 s"):
            list(ChatClient(f"http://127.0.0.1:{port}", silence=0.2).answer(ChatRequest("m", (Message("user", "hi"),))))
    assert isinstance(error, UpstreamTimeout)
    assert "antiphon doctor --url" in error.remedy


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        (b'{"error":{"message":"this port speaks HTTPS, and the request is plain HTTP; use https://"}}', "https://127.0.0.1:"),
        (b"<h1>400</h1> The plain HTTP request was sent to HTTPS port", "https://127.0.0.1:"),
        (b'{"error":{"message":"the picture at https://example.com is too large"}}', "the server's log"),
    ],
    ids=["ours", "another's", "about something else"],
)
def test_a_server_that_refuses_plain_http_is_to_be_called_by_https(tmp_path: Path, body: bytes, remedy: str) -> None:
    authority = Authority(tmp_path)
    context = authority.server("127.0.0.1") if "127" in remedy else None
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    peer, _ = server.accept()
                    with peer:
                        hello = peer.recv(1, socket.MSG_PEEK) == b"\x16"
                        if hello and context:
                            context.wrap_socket(peer, server_side=True).close()
                        else:
                            peer.recv(65536)
                            peer.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        error = failure(f"http://127.0.0.1:{server.getsockname()[1]}")
        over.set()
        with socket.create_connection(server.getsockname(), 1):
            pass
        thread.join(10)
    assert remedy in error.remedy
    assert ("speaks HTTPS" in error.message) is (context is not None)


def refusal(error: bytes, status: bytes = b"404 Not Found", headers: bytes = b"") -> AntiphonError:
    body = b'{"error":' + error + b"}"
    answer = b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n%b" % (status, headers, len(body), body)
    with listening(answer=answer) as port:
        return failure(f"http://127.0.0.1:{port}")


def test_the_remedy_of_the_server_is_shown_as_such_and_not_twice() -> None:
    error = refusal(b'{"message":"no model \\"x\\"; known: a; take a","code":"model_not_found","remedy":"take a"}')
    assert (error.code, error.message, error.remedy) == ("model_not_found", 'no model "x"; known: a (status 404)', "take a")
    error = refusal(b'{"message":"no key; show one","remedy":"show one"}', b"401 Unauthorized")
    assert (error.message, error.remedy) == ("no key (status 401)", "set ANTIPHON_API_KEY, or give --api-key")


def test_where_the_server_gives_no_remedy_its_log_is_named_with_the_request() -> None:
    error = refusal(b'{"message":"no such model"}', headers=b"x-request-id: req_7\r\n")
    assert error.message == "no such model (status 404, request req_7)"
    assert error.remedy == "the server's log may have more under the request req_7"
    assert refusal(b'{"message":"no such model"}').remedy == "the server's log may have more"


def test_an_error_in_the_middle_of_an_answer_brings_its_remedy() -> None:
    event = b'data: {"error":{"message":"it broke; mend it","remedy":"mend it"}}\n\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(event)
    with listening(answer=head + event) as port, pytest.raises(UpstreamBroken) as caught:
        list(ChatClient(f"http://127.0.0.1:{port}").answer(ChatRequest("m", (Message("user", "hi"),), stream=True)))
    assert (caught.value.message, caught.value.remedy) == ("it broke", "mend it")


@pytest.mark.parametrize("url", ["http://[::1", "http://a b", "http://a:99999", "ftp://a", "http://ä"])
def test_what_is_no_url_is_told(url):
    with pytest.raises(ConfigError, match="is not the URL of a server"):
        ChatClient(url)


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk one", "ключ"])
def test_a_key_that_fits_into_no_header_is_told_and_not_shown(key):
    with pytest.raises(ConfigError) as told:
        ChatClient("http://127.0.0.1:1", key)
    assert key not in str(told.value)
