"""A web server with files on it, that misbehaves as it is told."""

import ssl
import subprocess
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

import msgspec


class Behaviour(msgspec.Struct):
    """How one request is answered."""

    status: int = 200
    headers: dict[str, str] = {}
    ranges: bool = True
    """Understand Range."""
    etag: str = '"v1"'
    modified: str = ""
    length: bool = True
    """Say how long the file is."""
    cut: int | None = None
    """Bytes of the body after which the connection is closed."""
    hold: threading.Event | None = None
    """Where it is cut, wait for this before closing or going on."""
    go_on: bool = False
    """After the wait, send the rest."""
    body: bytes | None = None


class Seen(msgspec.Struct):
    """A request that came."""

    path: str
    headers: dict[str, str]
    status: int = 0


def make_certificate(openssl: str, folder: Path) -> Path:
    """A file with a certificate for 127.0.0.1 and its key; as a certificate authority it vouches for itself."""
    file = folder / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that leave are what the tests are about."""


class FileServer:
    """Serves ``files`` (path to content). Each request takes one of ``plan``, and behaves well when that is used up."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.plan: deque[Behaviour] = deque()
        self.usual = Behaviour()
        self.seen: list[Seen] = []
        self.halfway = threading.Event()
        """Set when a cut has been reached."""
        self._server = _QuietServer(("127.0.0.1", 0), self._handler())
        self._scheme = "http"
        if certificate:
            self._scheme = "https"
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{self._scheme}://{host!s}:{port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                seen = Seen(path=self.path, headers={name.lower(): value for name, value in self.headers.items()})
                owner.seen.append(seen)
                behaviour = owner.plan.popleft() if owner.plan else owner.usual
                content = behaviour.body if behaviour.body is not None else owner.files.get(unquote(urlsplit(self.path).path))
                try:
                    _answer(self, seen, behaviour, content)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 -- the name in the base class

        def _answer(handler: Handler, seen: Seen, behaviour: Behaviour, content: bytes | None) -> None:
            status, headers, body = _head(seen, behaviour, content)
            seen.status = status
            handler.send_response(status)
            for name, value in {**headers, **behaviour.headers}.items():
                handler.send_header(name, value)
            handler.end_headers()
            cut = len(body) if behaviour.cut is None else behaviour.cut
            handler.wfile.write(body[:cut])
            if behaviour.cut is not None:
                handler.wfile.flush()
                owner.halfway.set()
                if behaviour.hold:
                    behaviour.hold.wait(30)
                if behaviour.go_on:
                    handler.wfile.write(body[cut:])
            handler.close_connection = behaviour.cut is not None or not behaviour.length

        return Handler


def _head(seen: Seen, behaviour: Behaviour, content: bytes | None) -> tuple[int, dict[str, str], bytes]:
    if content is None or behaviour.status != 200:
        status = behaviour.status if behaviour.status != 200 else 404
        return status, {"Content-Length": str(len(content or b""))}, content or b""
    headers = {"ETag": behaviour.etag} if behaviour.etag else {}
    if behaviour.modified:
        headers["Last-Modified"] = behaviour.modified
    wanted = seen.headers.get("range", "")
    condition = seen.headers.get("if-range", "")
    agrees = not condition or condition in {behaviour.etag, behaviour.modified}
    if wanted and behaviour.ranges and agrees:
        start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(content):
            return 416, {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"}, b""
        headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        headers["Content-Length"] = str(len(content) - start)
        return 206, headers, content[start:]
    if behaviour.length:
        headers["Content-Length"] = str(len(content))
    else:
        headers["Connection"] = "close"
    return 200, headers, content
