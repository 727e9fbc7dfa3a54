"""Authorities and certificates made for one test."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme


class Authority:
    """A certificate authority whose files lie in ``folder``."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._ca = trustme.CA()
        self._folder = folder
        self._issued = 0
        self.file = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(str(self.file))

    def issue(self, *names: str, expires: timedelta = timedelta(days=1)) -> tuple[Path, Path]:
        """Files of a new certificate for these names, and of its key."""
        self._issued += 1
        issued = self._ca.issue_cert(
            *names, not_before=datetime.now(UTC) - timedelta(days=9), not_after=datetime.now(UTC) + expires
        )
        cert, key = (self._folder / f"{self.file.stem}-{self._issued}.{kind}" for kind in ("crt", "key"))
        cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        return cert, key

    def server(self, *names: str, expires: timedelta = timedelta(days=1), clients: bool = False) -> ssl.SSLContext:
        """What a server listens with; with ``clients`` it wants a certificate of the same authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(*names, expires=expires))
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.file)
        return context
