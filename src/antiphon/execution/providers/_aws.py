"""Signs calls to AWS (Signature Version 4), by the library of AWS."""

import logging
import re
import threading
import time
from typing import Final

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError
from botocore.session import Session

from antiphon.core.errors import ConfigError
from antiphon.core.types import Headers
from antiphon.execution.providers import ProviderOptions

SERVICE: Final = "bedrock"
RENEWAL_PAUSE: Final = 10.0
"""Seconds until credentials that could not be renewed are asked for again."""
_REGION: Final = re.compile(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_SIGNED: Final = ("authorization", "x-amz-date", "x-amz-security-token")

log = logging.getLogger(__name__)


class Signer:
    """Signs the calls of one provider.

    Credentials that end are renewed in a thread of their own, well before, so that no call waits for it.
    """

    def __init__(self, options: ProviderOptions) -> None:
        session = Session()
        found = _REGION.search(options.origin.host)
        self._region = found[1] if found is not None else session.get_config_variable("region")
        if not self._region:
            raise ConfigError(
                f'provider "{options.name}" is in no region that its url tells',
                remedy="write the url as https://bedrock-runtime.REGION.amazonaws.com, or set AWS_REGION",
            )
        self._name = options.name
        self._credentials = _given(options.key) or session.get_credentials()
        if self._credentials is None:
            raise ConfigError(
                f'provider "{options.name}" has no key, and AWS\'s own files and roles give none',
                remedy="add key: ${AWS_BEARER_TOKEN_BEDROCK}, or key: ${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}",
            )
        self._frozen: ReadOnlyCredentials = self._credentials.get_frozen_credentials()
        self._renewing = threading.Lock()
        self._renewed_at = -RENEWAL_PAUSE
        self._origin = str(options.origin)

    def headers(self, path: str, body: bytes) -> Headers:
        """The header fields that sign a POST of ``body``."""
        if isinstance(self._credentials, RefreshableCredentials) and self._credentials.refresh_needed():
            self._renew_aside()
        request = AWSRequest("POST", f"{self._origin}{path}", {"content-type": "application/json"}, body)
        SigV4Auth(self._frozen, SERVICE, self._region).add_auth(request)
        signed = {name.lower(): value for name, value in request.headers.items()}
        return tuple((name.encode(), _bytes(signed[name])) for name in _SIGNED if name in signed)

    def _renew_aside(self) -> None:
        if time.monotonic() - self._renewed_at > RENEWAL_PAUSE and self._renewing.acquire(blocking=False):
            threading.Thread(target=self._renew, name=f"credentials of {self._name}", daemon=True).start()

    def _renew(self) -> None:
        try:
            self._frozen = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            log.warning("the credentials of provider %s could not be renewed: %s", self._name, error)
        finally:
            self._renewed_at = time.monotonic()
            self._renewing.release()


def _given(key: bytes) -> Credentials | None:
    """The access key of a row; None where it has none."""
    if not key:
        return None
    identity, secret, token = (*key.decode("latin-1").split(":", 2), "", "")[:3]
    return Credentials(identity, secret, token or None)


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin-1")
