"""Bytes of a load balancer, or of somebody who would like to be one, into the reader of PROXY headers."""

import ipaddress
import random
import re
import socket
import struct

import msgspec

from antiphon.transport.proxy_protocol import MAX_HEADER, MAX_LINE, SIGNATURE, MalformedHeaderError, ProxyHeader
from tests.fuzz.fakes import HandLoop
from tests.fuzz.finding import Finding, same

VERSIONS = frozenset((1, 2))

_LINE = re.compile(rb"PROXY (?:UNKNOWN(?: [^\n]*)?|TCP(?P<kind>4|6) (?P<client>\S+) (?P<server>\S+) (?P<ports>\S+ \S+))\r\n")
_PORT = re.compile(rb"0|[1-9][0-9]{0,4}")
_KINDS = {b"4": socket.AF_INET, b"6": socket.AF_INET6}


def binary(first: int, family: int, rest: bytes, length: int | None = None) -> bytes:
    """A header of version 2."""
    return SIGNATURE + bytes((first, family)) + struct.pack("!H", len(rest) if length is None else length) + rest


IPV4 = bytes((192, 0, 2, 7, 198, 51, 100, 1)) + struct.pack("!HH", 56324, 443)
IPV6 = bytes.fromhex("20010db8000000000000000000000007") * 2 + struct.pack("!HH", 56324, 443)
TLV = b"\x04\x00\x03abc" + b"\x20\x00\x05\x01\0\0\0\0"

HEADERS: dict[bytes, str] = {
    b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n": "192.0.2.7",
    b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n": "255.255.255.255",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 0 0\r\n": "192.0.2.7",
    b"PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n": "2001:db8::7",
    b"PROXY TCP6 " + b"ffff:" * 7 + b"ffff " + b"ffff:" * 7 + b"ffff 65535 65535\r\n": "ffff:" * 7 + "ffff",
    b"PROXY TCP6 ::ffff:192.0.2.7 :: 1 2\r\n": "192.0.2.7",
    b"PROXY UNKNOWN\r\n": "",
    b"PROXY UNKNOWN " + b"ffff:" * 7 + b"ffff " + b"ffff:" * 7 + b"ffff 65535 65535\r\n": "",
    binary(0x21, 0x11, IPV4): "192.0.2.7",
    binary(0x21, 0x11, IPV4 + TLV): "192.0.2.7",
    binary(0x21, 0x21, IPV6): "2001:db8::7",
    binary(0x21, 0x21, IPV6 + TLV * 50): "2001:db8::7",
    binary(0x20, 0x00, b""): "",
    binary(0x20, 0x11, IPV4 + TLV): "",
    binary(0x20, 0xEE, b"\xff" * 40): "",
    binary(0x21, 0x00, TLV): "",
    binary(0x21, 0x12, IPV4): "",
    binary(0x21, 0x31, bytes(216)): "",
}
"""Headers that are good, and the client that each names."""

BAD: tuple[bytes, ...] = (
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 56324\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443 \r\n",
    b"PROXY TCP4  192.0.2.7 198.51.100.1 56324 443\r\n",
    b"PROXY TCP4 2001:db8::7 2001:db8::1 56324 443\r\n",
    b"PROXY TCP4 192.0.2.007 198.51.100.1 56324 443\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 65536\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 056324 443\r\n",
    b"PROXY TCP4 192.0.2.7 198.51.100.1 +1 443\r\n",
    b"PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n",
    b"PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n",
    b"PROXY UNKNOWNX\r\n",
    b"PROXY UNKNOWN\rX\r\n",
    b"PROXX UNKNOWN\r\n",
    b"proxy TCP4 192.0.2.7 198.51.100.1 1 2\r\n",
    b"PROXY UNKNOWN " + b"x" * MAX_LINE + b"\r\n",
    b"PROXY " + b"\xff" * 20 + b"\r\n",
    binary(0x11, 0x11, IPV4),
    binary(0x22, 0x11, IPV4),
    binary(0x21, 0x13, IPV4),
    binary(0x21, 0x41, IPV4),
    binary(0x21, 0x11, IPV4[:-1]),
    binary(0x21, 0x21, IPV4),
    binary(0x21, 0x11, IPV4, length=0xFFFF),
    SIGNATURE[:-1] + b"X" + bytes(20),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
)
"""Beginnings of a connection that are no header, or a wrong one."""


class Outcome(msgspec.Struct, frozen=True):
    """What was made of some bytes."""

    complete: bool
    client: str = ""
    size: int = 0
    """Bytes that were taken from the socket."""


NOTHING = Outcome(complete=False)


def play(pieces: list[bytes], versions: frozenset[int] = VERSIONS) -> Outcome:
    """Read as from a socket whose bytes can be looked at before they are taken. Raises MalformedHeaderError."""
    header, waiting, taken = ProxyHeader(versions), b"", 0
    for piece in pieces:
        waiting += piece
        while waiting and not header.complete:
            seen = waiting[: header.wanted]
            if not seen:
                raise Finding("it wants nothing and is not complete")
            size = header.take(seen)
            if not 0 < size <= len(seen):
                raise Finding(f"{size} of {len(seen)} bytes are taken")
            waiting, taken = waiting[size:], taken + size
    if taken > MAX_HEADER:
        raise Finding(f"{taken} bytes are kept")
    return Outcome(True, header.client, taken) if header.complete else NOTHING


class ProxyTarget:
    """However a header is cut, it is read the same way, and no byte beyond it is taken."""

    name = "proxy"
    seeds = (*(header + b"GET / HTTP/1.1\r\n\r\n" for header in HEADERS), *BAD)
    words = (
        b"PROXY ", b"TCP4", b"TCP6", b"UNKNOWN", b" ", b"\r\n", b"\n", b"\r", b"192.0.2.7", b"::1", b"::ffff:1.2.3.4", b"0",
        b"65536", b"%", b"\0", b"\xff", SIGNATURE, b"\x20", b"\x21", b"\x11", b"\x00\x0c", b"\x00\x24", b"\xff\xff", b"\x0f\xf0",
        IPV4, IPV6, TLV,
    )  # fmt: skip

    def __init__(self, loop: HandLoop) -> None:
        """The loop is not needed here."""

    def run(self, data: bytes, pieces: list[bytes], rng: random.Random) -> None:
        whole = _played([data])
        same("headers by how the bytes were cut", whole, _played(pieces))
        same("a header by two readings", whole, _read(data))

    def left_over(self) -> int:
        return 0


def _played(pieces: list[bytes]) -> Outcome:
    try:
        return play(pieces)
    except MalformedHeaderError:
        return NOTHING


def _read(data: bytes) -> Outcome:
    """A second reading, of the whole at once."""
    if data.startswith(SIGNATURE) and len(data) >= 16:
        return _read_binary(data)
    line = data[: data.find(b"\n") + 1]
    match = _LINE.fullmatch(line) if len(line) <= MAX_LINE else None
    if match is None:
        return NOTHING
    if match["kind"] is None:
        return Outcome(True, "", len(line))
    packed = [_packed(_KINDS[match["kind"]], match[name]) for name in ("client", "server")]
    ports = match["ports"].split(b" ")
    if None in packed or not all(_PORT.fullmatch(port) and int(port) < 65536 for port in ports):
        return NOTHING
    assert packed[0] is not None
    return Outcome(True, _shown(packed[0]), len(line))


def _read_binary(data: bytes) -> Outcome:
    first, family, length = struct.unpack_from("!BBH", data, 12)
    rest = data[16 : 16 + length]
    if len(rest) < length or 16 + length > MAX_HEADER or first not in (0x20, 0x21):
        return NOTHING
    if first == 0x20 or family in (0x00, 0x12, 0x22, 0x31, 0x32):
        return Outcome(True, "", 16 + length)
    if family == 0x11 and length >= 12:
        return Outcome(True, _shown(rest[:4]), 16 + length)
    if family == 0x21 and length >= 36:
        return Outcome(True, _shown(rest[:16]), 16 + length)
    return NOTHING


def _packed(family: int, text: bytes) -> bytes | None:
    try:
        return socket.inet_pton(family, text.decode("ascii"))
    except (OSError, ValueError):
        return None


def _shown(packed: bytes) -> str:
    mapped = len(packed) == 16 and packed.startswith(bytes(10) + b"\xff\xff")
    return str(ipaddress.ip_address(packed[12:] if mapped else packed))
