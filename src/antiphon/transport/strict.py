"""What llhttp lets through and a server in a chain of servers must not: heads that the next one could read differently."""

import re
from typing import Final

_HOST: Final = re.compile(rb"(?:[\w.~!$&'()*+;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?", re.ASCII)
_ABSOLUTE: Final = re.compile(rb"(https?)://([^/?]+)(?:[/?].*)?", re.IGNORECASE)
_DEFAULT_PORTS: Final = {b"http": b":80", b"https": b":443"}


def one_reading(method: bytes, target: bytes, version: str, host: bytes | None) -> bool:
    """Whether a request's target and Host have one meaning (RFC 9112, section 3.2).

    ``host`` is None where the field is absent, which only HTTP/1.0 allows; a repeated one comes joined by a comma and has
    none. llhttp has seen to it that there are no spaces, control bytes or bytes above 127 in ``target``.
    """
    if host is None:
        if version != "1.0":
            return False
    else:
        host = host.strip(b" \t")
        if not _HOST.fullmatch(host):
            return False
    if target.startswith(b"/"):
        return b"#" not in target
    return (target == b"*" and method == b"OPTIONS") or _absolute_form(target, host)


def _absolute_form(target: bytes, host: bytes | None) -> bool:
    """Whether a target with scheme and host names the same host as the field does."""
    parts = _ABSOLUTE.fullmatch(target)
    if parts is None or b"#" in target:
        return False
    scheme, authority = parts[1].lower(), parts[2].lower()
    if not _HOST.fullmatch(authority):
        return False
    port = _DEFAULT_PORTS[scheme]
    return host is None or authority.removesuffix(port) == host.lower().removesuffix(port)
