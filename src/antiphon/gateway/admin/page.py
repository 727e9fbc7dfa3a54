"""HTML pages that bring their own style and script and are allowed to load nothing from elsewhere."""

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


class Page:
    """One of the files in ``pages``, its ``{{ name }}`` replaced by ``values``.

    The Content-Security-Policy names the inline styles and scripts by their hashes (CSP level 3, section 8.4), so that nothing
    that found its way into the page otherwise is run.
    """

    def __init__(self, file: str, values: Mapping[str, str]) -> None:
        text = resources.files(__package__).joinpath("pages", file).read_text(encoding="utf-8")
        for name, value in values.items():
            text = text.replace("{{ " + name + " }}", html.escape(value))
        self._text = text
        self._headers = {"content-security-policy": _policy(text), "cache-control": "no-cache"}

    async def serve(self, request: Request) -> Response:
        """Endpoint that serves the page."""
        return HTMLResponse(self._text, headers=self._headers)


def _policy(text: str) -> str:
    hashes: dict[str, list[str]] = {"style": [], "script": []}
    for kind, source in _INLINE.findall(text):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("style-src", "'self'", *hashes["style"])),
            " ".join(("script-src", "'self'", *hashes["script"])),
            "img-src 'self' data:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
