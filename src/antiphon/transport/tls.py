"""TLS on both sides: what is trusted, what is shown, and what a failure means in words."""

import functools
import ssl

import msgspec

from antiphon.core.errors import ConfigError

_ALPN = ["http/1.1"]
_X509_WORDS = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is signed by itself, and no authority that is trusted here has signed it",
    19: "its certificate is signed by an authority that is not trusted here",
    20: "its certificate is signed by an authority that is not trusted here",
    21: "its certificate is signed by an authority that is not trusted here",
    62: "its certificate is for another host",
    64: "its certificate is for another address",
}
"""What the verification codes of OpenSSL (x509_vfy.h) mean."""
_X509_REMEDIES = {
    9: "check the clock of this machine",
    10: "renew the certificate of the server, or check the clock of this machine",
    62: "correct the provider's url, or set its server_name",
    64: "write the provider's url with the host's name, or set its server_name",
}
_TRUST = "set the provider's ca_file to the certificate of its authority"
_REASON_WORDS = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS on this port",
    "HTTP_REQUEST": "it does not speak TLS on this port",
    "PACKET_LENGTH_TOO_LONG": "it does not speak TLS on this port",
    "RECORD_LAYER_FAILURE": "it does not speak TLS on this port",
    "UNSUPPORTED_PROTOCOL": "it speaks only versions of TLS before 1.2",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it speaks no version of TLS that is allowed here",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it refused the handshake",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate of the client",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust the authority of the client's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it refused the client's certificate",
    "TLSV1_UNRECOGNIZED_NAME": "it does not know the host's name",
}
_REASON_REMEDIES = {
    "WRONG_VERSION_NUMBER": "check the port, or write the provider's url with http",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "set the provider's client_cert",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it may want the provider's client_cert, or a newer version of TLS",
}


class TlsOptions(msgspec.Struct, frozen=True):
    """What a client trusts and shows. Paths are absolute; empty ones stand for the system's authorities and for no certificate."""

    ca_file: str = ""
    """PEM file of the authorities that are trusted, instead of the system's."""
    client_cert: str = ""
    client_key: str = ""
    """PEM file of the private key; empty where ``client_cert`` holds both."""
    server_name: str = ""
    """Name that the server must prove; empty takes the host of its address."""
    verify: bool = True


def client_context(options: TlsOptions) -> ssl.SSLContext:
    """What to connect with. Raises ConfigError, with the option as its key, where a file is missing or holds something else."""
    if not (options.ca_file or options.client_cert or not options.verify):
        return _system_context()
    context = ssl.create_default_context() if not options.ca_file else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(_ALPN)
    if not options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.ca_file:
        try:
            context.load_verify_locations(options.ca_file)
        except (OSError, ValueError) as error:
            reason = _file_reason(error, "it holds no certificates in PEM form")
            raise ConfigError(
                f"the authorities in {options.ca_file} cannot be used: {reason}",
                remedy='ca_file takes a PEM file, which begins with "-----BEGIN CERTIFICATE-----"',
                key="ca_file",
            ) from error
    if options.client_cert:
        _load_chain(context, options.client_cert, options.client_key, ("client_cert", "client_key"))
    return context


def server_context(cert: str, key: str) -> ssl.SSLContext:
    """What to listen with. Raises ConfigError, with ``tls_cert`` or ``tls_key`` as its key, where a file cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(_ALPN)
    load_certificate(context, cert, key)
    return context


def load_certificate(context: ssl.SSLContext, cert: str, key: str) -> None:
    """Show this certificate from the next handshake on. Raises ConfigError as ``server_context`` does."""
    _load_chain(context, cert, key, ("tls_cert", "tls_key"))


def explain(error: BaseException) -> tuple[str, str]:
    """What went wrong in a handshake or later inside TLS, as "it ..." or "its ...", and what may mend it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        words = _X509_WORDS.get(code, f"its certificate does not hold: {error.verify_message}")
        return words, _X509_REMEDIES.get(code, _TRUST)
    if isinstance(error, ssl.SSLError):
        reason = error.reason or ""
        told = reason.lower().replace("_", " ") or "TLS failed"
        return _REASON_WORDS.get(reason, f"TLS failed: {told}"), _REASON_REMEDIES.get(reason, "")
    if isinstance(error, ConnectionError):
        return "it closed the connection during the TLS handshake", ""
    return str(error), ""


@functools.cache
def _system_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(_ALPN)
    return context


def _load_chain(context: ssl.SSLContext, cert: str, key: str, names: tuple[str, str]) -> None:
    for path, name in ((cert, names[0]), (key, names[1])):
        if path:
            _check_readable(path, name)
    try:
        # without a password OpenSSL would ask for one at the terminal
        context.load_cert_chain(cert, key or None, password="")
    except (OSError, ValueError) as error:
        mismatch = isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH"
        if mismatch:
            raise ConfigError(
                f"the private key in {key or cert} does not belong to the certificate in {cert}",
                remedy="name the pair that was made together",
                key=names[1] if key else names[0],
            ) from error
        raise ConfigError(
            f"the certificate in {cert} and the private key in {key or cert} cannot be used",
            remedy="both must be in PEM form, the chain of certificates with its own first, and the key without a passphrase",
            key=names[0],
        ) from error


def _check_readable(path: str, name: str) -> None:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        raise ConfigError(
            f"the file {path} cannot be read: {error.strerror}", remedy="check the path and its rights", key=name
        ) from error


def _file_reason(error: Exception, otherwise: str) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.strerror:
        return error.strerror
    return otherwise
