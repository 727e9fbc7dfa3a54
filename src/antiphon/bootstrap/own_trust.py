"""Why a command of ours cannot talk to a server over TLS, and what to do. What is wrong with a provider, the transport tells."""

import ssl

from antiphon.transport.tls import explain

_TRUST = "to trust it, set SSL_CERT_FILE to a file with the certificate of its authority, or with its own if it is signed by itself"
_NAMES = {62, 64}
_TIMES = {9, 10}
_PLAIN = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
_TURNS = 5
"""Messages that a handshake takes of each side, and some."""


def distrust(shown: ssl.SSLContext, host: str) -> tuple[str, str] | None:
    """What a command on this machine would find wrong with the certificate that a server shows. No connection is made."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(to_client, to_server, server_hostname=host)
    server = shown.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_TURNS):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                return untrusted(error)
    return None


def untrusted(error: BaseException | None) -> tuple[str, str] | None:
    """What is wrong, as "its certificate ...", and the remedy; None where it is not about TLS."""
    if not isinstance(error, ssl.SSLError):
        return None
    words, _ = explain(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _NAMES:
            return words, "call it by the name that its certificate is for"
        if error.verify_code in _TIMES:
            return words, "renew the certificate of the server, or check the clock of this machine"
        return words, _TRUST
    if error.reason in _PLAIN:
        return words, "write its URL with http, or check the port"
    return words, "check the port, and what the server wants of its callers"
