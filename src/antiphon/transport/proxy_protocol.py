"""The PROXY protocol: what a load balancer says of its client ahead of everything else on a connection.

Versions 1 and 2, as https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt describes them. Nothing here reads or waits.
"""

import ipaddress
import struct
from collections.abc import Sequence

import msgspec

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
"""First bytes of a header of version 2."""

MAX_LINE = 107
"""Bytes of a header of version 1, with its line end."""

MAX_HEADER = 4096
"""Bytes of a header of version 2 with all that it tells beside the addresses. The format allows 65,551, and nobody needs them."""

_PREFIX = b"PROXY "
_FIXED = 16
_ADDRESSES = {0x11: (12, 4), 0x21: (36, 16)}
"""Family and transport (TCP over IPv4, over IPv6): bytes of all addresses and ports, and of the client's address."""
_UNUSED = frozenset((0x00, 0x12, 0x22, 0x31, 0x32))
"""What is allowed and says nothing of the client of a TCP connection: unspecified, datagrams, Unix sockets."""
_LOCAL, _PROXY = 0x20, 0x21


class MalformedHeaderError(Exception):
    """The bytes are no header of the PROXY protocol, or of a version that is not taken here."""


class ProxyRules(msgspec.Struct, frozen=True):
    """Who may say who the client is, and how."""

    versions: frozenset[int]
    trusted: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]

    def trusts(self, host: str) -> bool:
        """Whether a peer with this address may."""
        address = ipaddress.ip_address(host.partition("%")[0])
        return any(address in network for network in self.trusted)


class ProxyHeader:
    """A header that comes in pieces. It never takes a byte beyond its end, so that what follows stays in the socket."""

    def __init__(self, versions: frozenset[int]) -> None:
        self._versions = versions
        self._data = b""
        self.complete = False
        self.client = ""
        """Address of the client; empty where the header says that the peer speaks for itself, or does not say."""

    @property
    def begun(self) -> bool:
        """Some of it has come."""
        return bool(self._data)

    @property
    def wanted(self) -> int:
        """How many further bytes to look at, at most."""
        size = len(self._data)
        if self._data.startswith(_PREFIX[:1]):
            return MAX_LINE - size
        return _length(self._data) - size if size >= _FIXED else _FIXED - size

    def take(self, data: bytes) -> int:
        """How many of these bytes, no more than ``wanted``, belong to the header. Raises MalformedHeaderError."""
        first = (self._data or data)[:1]
        if first == _PREFIX[:1] and 1 in self._versions:
            return self._take_line(data)
        if first == SIGNATURE[:1] and 2 in self._versions:
            return self._take_binary(data)
        raise MalformedHeaderError("it does not begin with a header of a version that is taken")

    def _take_line(self, data: bytes) -> int:
        end = data.find(b"\n")
        taken = data if end < 0 else data[: end + 1]
        self._data += taken
        if not _PREFIX.startswith(self._data[: len(_PREFIX)]):
            raise MalformedHeaderError("it does not begin with a header")
        if end >= 0:
            self.client = _client_of_line(self._data)
            self.complete = True
        elif len(self._data) >= MAX_LINE:
            raise MalformedHeaderError(f"its line does not end within {MAX_LINE} bytes")
        return len(taken)

    def _take_binary(self, data: bytes) -> int:
        self._data += data
        size = len(self._data)
        if not SIGNATURE.startswith(self._data[: len(SIGNATURE)]):
            raise MalformedHeaderError("it does not begin with a header")
        if size >= _FIXED:
            length = _length(self._data)
            if length > MAX_HEADER:
                raise MalformedHeaderError(f"its header is longer than {MAX_HEADER} bytes")
            if size == length:
                self.client = _client_of_binary(self._data)
                self.complete = True
        return len(data)


def _length(data: bytes) -> int:
    """Bytes of a whole header of version 2, by its first 16."""
    return _FIXED + int(struct.unpack_from("!H", data, 14)[0])


def _client_of_line(line: bytes) -> str:
    if not line.endswith(b"\r\n"):
        raise MalformedHeaderError("its line does not end with CR LF")
    if line[:-2] == b"PROXY UNKNOWN" or line.startswith(b"PROXY UNKNOWN "):
        return ""
    parts = line[:-2].split(b" ")
    if len(parts) != 6 or parts[1] not in (b"TCP4", b"TCP6"):
        raise MalformedHeaderError("its line is not PROXY, protocol, two addresses and two ports")
    try:
        kind = ipaddress.IPv4Address if parts[1] == b"TCP4" else ipaddress.IPv6Address
        client, _ = (kind(part.decode("ascii")) for part in parts[2:4])
    except ValueError as error:  # UnicodeDecodeError is one
        raise MalformedHeaderError("its line has an address that is none") from error
    if b"%" in line or not all(_is_port(part) for part in parts[4:]):
        raise MalformedHeaderError("its line has an address or a port that is none")
    return _shown(client)


def _is_port(text: bytes) -> bool:
    return text.isdigit() and len(text) <= 5 and int(text) <= 65535 and (text == b"0" or not text.startswith(b"0"))


def _client_of_binary(data: bytes) -> str:
    command, family = data[12], data[13]
    if command == _LOCAL:
        return ""
    if command != _PROXY:
        raise MalformedHeaderError("its header has a version or a command that does not exist")
    if family in _UNUSED:
        return ""
    if family not in _ADDRESSES:
        raise MalformedHeaderError("its header has an address family that does not exist")
    needed, size = _ADDRESSES[family]
    if len(data) - _FIXED < needed:
        raise MalformedHeaderError("its header is too short for its addresses")
    return _shown(ipaddress.ip_address(data[_FIXED : _FIXED + size]))


def _shown(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """An address as text; one of IPv4 in the dress of IPv6 as what it is."""
    return str(getattr(address, "ipv4_mapped", None) or address)
