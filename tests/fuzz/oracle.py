"""Second opinions: h11 reads requests and answers, and a reader of event streams follows the standard letter by letter."""

import re
from typing import NamedTuple

import h11

_ROOM = 1 << 20
_LENIENT_LINE = re.compile(rb"([^ \r\n]+) +([^ \r\n]+) +(?:HTTP|RTSP|ICE)/")
"""What llhttp reads as ``METHOD target HTTP/``: more spaces, and the names of two cousins."""
_HOP = frozenset((b"connection", b"upgrade", b"http2-settings"))


class Message(NamedTuple):
    """What matters of a request or an answer."""

    first: tuple[bytes, bytes] | int
    """Method and target, or status."""
    fields: dict[bytes, bytes]
    body: bytes


def fields_of(lines: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Fields by name; values of a repeated one joined, those that concern the connection left out."""
    fields: dict[bytes, bytes] = {}
    for line, value in lines:
        name = line.lower()
        if name not in _HOP:
            plain = value.lower() if name == b"transfer-encoding" else value
            fields[name] = plain if name not in fields else fields[name] + b"," + plain
    return {name: b",".join(part.strip(b" \t") for part in value.split(b",")) for name, value in fields.items()}


def requests(data: bytes) -> tuple[list[Message], str]:
    """The requests that h11 reads, and why it stopped; empty where there was no more."""
    found: list[Message] = []
    rest = data
    while rest := rest.lstrip(b"\r\n"):  # empty lines before a request line may be passed over (RFC 9112, section 2.2)
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_ROOM)
        connection.receive_data(_LENIENT_LINE.sub(rb"\1 \2 HTTP/", rest, count=1) if _LENIENT_LINE.match(rest) else rest)
        try:
            message = _message(connection)
        except h11.RemoteProtocolError as error:
            return found, str(error)
        if message is None:
            return found, ""
        found.append(message)
        rest = connection.trailing_data[0]
    return found, ""


def answer(data: bytes, ended: bool) -> tuple[Message | None, str]:
    """The answer to a POST that h11 reads, and why it refuses it."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_ROOM)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "a"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    try:
        connection.receive_data(data)
        if ended:
            connection.receive_data(b"")
        return _message(connection), ""
    except h11.RemoteProtocolError as error:
        return None, str(error)


def _message(connection: h11.Connection) -> Message | None:
    first: tuple[bytes, bytes] | int = 0
    fields: dict[bytes, bytes] = {}
    body: list[bytes] = []
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            first, fields = (event.method, event.target), fields_of(list(event.headers))
        elif isinstance(event, h11.Response):
            first, fields = event.status_code, fields_of(list(event.headers))
        elif isinstance(event, h11.Data):
            body.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            return Message(first, fields, b"".join(body))
        elif not isinstance(event, h11.InformationalResponse):
            return None  # more is needed, or the connection has ended


def events(stream: bytes) -> list[str]:
    """Data of the events in a stream, by the letter of the WHATWG HTML standard, section 9.2.6; what is not ended counts too."""
    found: list[str] = []
    data: list[str] = []
    for line in stream.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        _take(line, data, found)
    _take("", data, found)
    return found


def _take(line: str, data: list[str], found: list[str]) -> None:
    if not line:
        if data:
            found.append("\n".join(data))
            data.clear()
        return
    name, _, value = line.partition(":")
    if name == "data":
        data.append(value.removeprefix(" "))
